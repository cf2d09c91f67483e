//! A real browser: Chromium of the system's packages, by its driver's WebDriver interface.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use ureq::Agent;

/// How long to wait for what a page is to show.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long the driver may take to begin a session, which starts all of the browser.
const BEGINNING: Duration = Duration::from_secs(240);
/// How long it may take for anything else.
const ANSWER: Duration = Duration::from_secs(60);
/// The key under which WebDriver names an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A browser's window, and the driver's process. Both end with it.
pub(crate) struct Browser {
    driver: Child,
    /// What the driver says; it would end if nobody could hear it.
    _said: BufReader<ChildStdout>,
    agent: Agent,
    session: String,
    /// Where both put what they need, and may leave it.
    _folder: TempDir,
}

/// A driver's process, what it says, and its port, unless it ends before it has one.
fn start_driver(folder: &TempDir) -> Option<(Child, BufReader<ChildStdout>, u16)> {
    let mut driver = Command::new("chromedriver")
        .arg("--port=0")
        .env("TMPDIR", folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    let mut said = BufReader::new(driver.stdout.take().expect("a pipe"));
    let port = said.by_ref().lines().map_while(Result::ok).find_map(|line| {
        let (_, port) = line.rsplit_once("successfully on port ")?;
        port.trim_end_matches('.').parse().ok()
    });
    if port.is_none() {
        driver.wait().expect("ended");
    }
    Some((driver, said, port?))
}

impl Browser {
    /// Opens a window of 1200 by 900, if this machine has a browser.
    pub(crate) fn open() -> Option<Self> {
        let found = |name: &str| {
            let path = std::env::var_os("PATH").unwrap_or_default();
            std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
        };
        if !found("chromedriver") || !found("chromium") {
            eprintln!("skipped: there is no browser (chromium, chromedriver) on this machine");
            return None;
        }
        let folder = tempfile::tempdir().expect("made");
        // It wants one port of both address families, and ends where something else has the second of them.
        let (driver, said, port) = (0..10).find_map(|_| start_driver(&folder)).expect("a driver");
        let agent: Agent = Agent::config_builder().http_status_as_error(false).build().into();
        let mut browser = Browser {
            driver,
            _said: said,
            agent,
            session: format!("http://127.0.0.1:{port}/session"),
            _folder: folder,
        };
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--window-size=1200,900",
            "--lang=en",
        ];
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"binary": "/usr/bin/chromium", "args": arguments},
            "goog:loggingPrefs": {"browser": "ALL"}, "acceptInsecureCerts": true}}});
        let begun = browser.ask_within(BEGINNING, "", &wanted).expect("begun");
        let id = begun["sessionId"].as_str().expect("a session");
        browser.session = format!("{}/{id}", browser.session);
        Some(browser)
    }

    fn ask(&self, path: &str, body: &Value) -> Result<Value, Value> {
        self.ask_within(ANSWER, path, body)
    }

    fn ask_within(&self, limit: Duration, path: &str, body: &Value) -> Result<Value, Value> {
        let response = self
            .agent
            .post(format!("{}{path}", self.session))
            .config()
            .timeout_global(Some(limit))
            .build()
            .content_type("application/json")
            .send(body.to_string());
        let text = response
            .expect("answered")
            .body_mut()
            .read_to_string()
            .expect("text");
        let answer: Value = serde_json::from_str(&text).expect("JSON");
        let value = answer["value"].clone();
        if value["error"].is_null() {
            Ok(value)
        } else {
            Err(value)
        }
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        self.ask(path, body)
            .unwrap_or_else(|error| panic!("{path} {body}: {error}"))
    }

    /// Goes to an address.
    pub(crate) fn go(&self, url: &str) {
        self.post("/url", &json!({"url": url}));
    }

    /// What a script, the body of a function, returns.
    pub(crate) fn run(&self, script: &str) -> Value {
        self.post("/execute/sync", &json!({"script": script, "args": []}))
    }

    /// A command of the browser's own protocol.
    pub(crate) fn command(&self, name: &str, parameters: &Value) -> Value {
        self.post("/goog/cdp/execute", &json!({"cmd": name, "params": parameters}))
    }

    /// Waits until a script returns what is true.
    pub(crate) fn until(&self, script: &str) -> Value {
        self.until_with(script, || ())
    }

    /// The same, and does `again` before each look.
    pub(crate) fn until_with(&self, script: &str, again: impl Fn()) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            again();
            let found = self.run(&format!("return {script}"));
            if !matches!(found, Value::Null | Value::Bool(false)) {
                return found;
            }
            assert!(Instant::now() < end, "not so: {script}\n{}", self.text());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until the page shows this text.
    pub(crate) fn until_shown(&self, text: &str) {
        self.until(&format!("document.body.innerText.includes({})", json!(text)));
    }

    /// All that the page shows.
    pub(crate) fn text(&self) -> String {
        self.run("return document.body.innerText")
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// Clicks what a script finds, as a mouse does.
    pub(crate) fn click_found(&self, script: &str) {
        let end = Instant::now() + PATIENCE;
        loop {
            let found = self.run(&format!("return {script} ?? null"));
            if let Some(id) = found[ELEMENT].as_str() {
                match self.ask(&format!("/element/{id}/click"), &json!({})) {
                    Ok(_) => return,
                    // The page was drawn anew in between.
                    Err(error) if error["error"] == "stale element reference" => {}
                    Err(error) => panic!("{script}: {error}"),
                }
            }
            assert!(Instant::now() < end, "not there: {script}\n{}", self.text());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Clicks the first element that a CSS selector finds.
    pub(crate) fn click(&self, selector: &str) {
        self.click_found(&format!("document.querySelector({})", json!(selector)));
    }

    /// Clicks the button or link of this text.
    pub(crate) fn press(&self, text: &str) {
        self.click_found(&format!(
            "[...document.querySelectorAll('button, a')].find((one) => one.textContent.trim() === {} && one.offsetParent && !one.disabled)",
            json!(text)
        ));
    }

    /// Types text, or keys of WebDriver's names, where the focus is.
    pub(crate) fn keys(&self, text: &str) {
        let each = text.chars().flat_map(|key| {
            [
                json!({"type": "keyDown", "value": key}),
                json!({"type": "keyUp", "value": key}),
            ]
        });
        let actions: Vec<Value> = each.collect();
        self.post(
            "/actions",
            &json!({"actions": [{"type": "key", "id": "keyboard", "actions": actions}]}),
        );
    }

    /// Shows the page as on a screen of this size, with this colour scheme.
    pub(crate) fn screen(&self, width: u32, height: u32, scheme: &str) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        self.command("Emulation.setDeviceMetricsOverride", &size);
        let scheme = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}]});
        self.command("Emulation.setEmulatedMedia", &scheme);
    }

    /// Errors in the browser's log: those of scripts, and what the content-security policy forbade.
    pub(crate) fn errors(&self) -> Vec<String> {
        let log = self.post("/se/log", &json!({"type": "browser"}));
        let lines = log.as_array().cloned().unwrap_or_default();
        let severe = lines.iter().filter(|line| line["level"] == "SEVERE");
        severe
            .map(|line| line["message"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    /// Writes a picture of the page into the folder that `CENOTE_PICTURES` names, for people to look at.
    pub(crate) fn picture(&self, name: &str) {
        let Some(folder) = std::env::var_os("CENOTE_PICTURES") else {
            return;
        };
        let shot = self.command("Page.captureScreenshot", &json!({"captureBeyondViewport": true}));
        let path = std::path::Path::new(&folder).join(format!("{name}.base64"));
        std::fs::write(path, shot["data"].as_str().unwrap_or_default()).expect("written");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let ended = self.agent.delete(&self.session).config();
        let _ = ended.timeout_global(Some(ANSWER)).build().call();
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
