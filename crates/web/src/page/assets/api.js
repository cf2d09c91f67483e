// Calls to the service.

// What the page was given when its session began. The cookie is of no use without it, and no other origin can read it.
const SECRET = "cenote-page";
let secret = localStorage.getItem(SECRET) ?? "";

// How long what is asked for may take, in milliseconds. What changes something is waited for.
const PATIENCE = 120_000;

/** Why a call was refused: what is wrong, and what to do. */
export class Problem extends Error {
  constructor(status, body) {
    super(body.message ?? "the service gave an answer that this page does not know");
    this.status = status;
    this.code = body.code ?? "";
    this.advice = body.advice ?? "";
  }
}

async function call(method, path, body, { headers = {}, signal, raw } = {}) {
  const options = { method, headers, signal, credentials: "same-origin" };
  headers["X-CSRF-Token"] = secret;
  if (body !== undefined) {
    headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  if (method === "GET") options.signal = AbortSignal.timeout(PATIENCE);
  let response;
  let text;
  try {
    response = await fetch(path, options);
    if (response.ok && raw) return await response.blob();
    text = await response.text();
  } catch (problem) {
    const message = problem.name === "TimeoutError" ? `the service has not answered within ${PATIENCE / 1000} s` : "the service cannot be reached";
    throw new Problem(0, { message, advice: "see that it runs, and load the page again" });
  }
  if (response.status === 204) return null;
  let json;
  try { json = JSON.parse(text); } catch { json = {}; }
  if (!response.ok) throw new Problem(response.status, json);
  return json;
}

export const get = (path) => call("GET", `/api/v1/${path}`);
/** `signal` gives the call up; with `raw` the answer is a file and no JSON. */
export const post = (path, body = {}, options = {}) => call("POST", `/api/v1/${path}`, body, options);
export const remove = (path) => call("DELETE", `/api/v1/${path}`);

/** Who is logged in. A login token begins a session first. */
export async function enter(login) {
  const session = login ? await post("session", { login }) : await get("session");
  if (session.csrf) {
    secret = session.csrf;
    localStorage.setItem(SECRET, secret);
  }
  return session;
}

/** Ends the session. */
export async function leave() {
  await remove("session");
  localStorage.removeItem(SECRET);
}

/** Tells `hear` of each event, and `begun` whenever the stream begins anew. */
export async function events(hear, begun) {
  for (;;) {
    try {
      const response = await fetch("/api/v1/events", { headers: { "X-CSRF-Token": secret }, credentials: "same-origin" });
      if (response.status === 401 || response.status === 403) return;
      if (response.ok) {
        begun();
        await read(response.body.pipeThrough(new TextDecoderStream()).getReader(), hear);
      }
    } catch {
      // It is tried again, as long as the page is there.
    }
    await new Promise((done) => { setTimeout(done, 2000); });
  }
}

async function read(reader, hear) {
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (text + value).split("\n\n");
    text = parts.pop();
    for (const line of parts.flatMap((part) => part.split("\n"))) {
      if (line.startsWith("data: ")) hear(JSON.parse(line.slice(6)));
    }
  }
}

/** A random word: for idempotency keys, and for keys of results. */
export function word() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
