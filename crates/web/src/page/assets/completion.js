// What may be written where the caret is: names of the catalogue, and words of SQL.

const KEYWORDS = ["SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "HAVING", "LIMIT", "JOIN", "LEFT JOIN", "ON", "USING", "AS", "AND", "OR", "NOT", "IN", "BETWEEN",
  "IS NULL", "IS NOT NULL", "DISTINCT", "CASE", "WHEN", "THEN", "ELSE", "END", "UNION ALL", "UNION", "WITH", "EXISTS", "LIKE", "DESC", "ASC", "OVER", "PARTITION BY",
  "COUNT(*)", "COUNT(", "SUM(", "AVG(", "MIN(", "MAX(", "MEDIAN(", "COALESCE(", "CAST(", "ROUND(", "EXTRACT(", "DATE_TRUNC(", "ROW_NUMBER()", "RANK()"];
const MOST = 8;
const NAMED = /\b(?:FROM|JOIN)\s+((?:[\p{L}_][\p{L}\p{N}_]*\.)?[\p{L}_][\p{L}\p{N}_]*)(?:\s+(?:AS\s+)?([\p{L}_][\p{L}\p{N}_]*))?/giu;
const RESERVED = new Set(["where", "group", "order", "having", "limit", "join", "left", "right", "full", "inner", "on", "using", "union", "natural", "cross", "window", "qualify"]);

/** A name as it stands in a query. */
export const quoted = (name) => (/^[\p{L}_][\p{L}\p{N}_]*$/u.test(name) ? name : `"${name.replaceAll('"', '""')}"`);

/** The tables of a catalogue, each with its party and what it is called in a query: by its party too if another one has the same name. */
export function tablesOf(catalogue) {
  const all = catalogue.parties.flatMap((party) => party.tables.map((table) => ({ party, table })));
  const same = (name) => all.filter((one) => one.table.name.toLowerCase() === name.toLowerCase()).length;
  return all.map(({ party, table }) => ({ party, table,
    called: same(table.name) > 1 ? `${quoted(party.name)}.${quoted(table.name)}` : quoted(table.name) }));
}

/** The tables that a query names, by what it calls them there. */
function named(text, tables) {
  const found = new Map();
  for (const [, name, alias] of text.matchAll(NAMED)) {
    const own = name.split(".").pop().toLowerCase();
    const table = tables.find((one) => one.called.toLowerCase() === name.toLowerCase()) ?? tables.find((one) => one.table.name.toLowerCase() === own);
    if (!table) continue;
    found.set(own, table);
    if (alias && !RESERVED.has(alias.toLowerCase())) found.set(alias.toLowerCase(), table);
  }
  return found;
}

const columnOf = (table) => (column) => ({ text: column.name, insert: quoted(column.name), about: `${column.type}, of ${table.called}` });
const tableItem = (one) => ({ text: one.called, insert: one.called, about: `table of ${one.party.name}` });

/**
 * What may stand where the caret is, and which part of the text it would replace. Nothing is offered within quotes, nor for an empty word unless it was asked
 * for.
 */
export function completions(text, caret, catalogue, asked) {
  const before = text.slice(0, caret);
  const none = { from: caret, items: [] };
  if ((before.match(/'/g) ?? []).length % 2 === 1 || /--[^\n]*$/.test(before)) return none;
  const [, owner, begun] = before.match(/(?:([\p{L}_][\p{L}\p{N}_]*)\.)?([\p{L}\p{N}_]*)$/u);
  if (!begun && !owner && !asked) return none;
  const tables = tablesOf(catalogue);
  const there = named(text, tables);
  let known;
  if (owner) {
    const table = there.get(owner.toLowerCase()) ?? tables.find((one) => one.table.name.toLowerCase() === owner.toLowerCase());
    const ofParty = tables.filter((one) => one.party.name.toLowerCase() === owner.toLowerCase());
    known = table ? table.table.columns.map(columnOf(table)) : ofParty.map((one) => ({ ...tableItem(one), text: one.table.name, insert: quoted(one.table.name) }));
  } else if (/\b(?:FROM|JOIN)\s+[\p{L}\p{N}_]*$/iu.test(before)) {
    known = tables.map(tableItem);
  } else {
    const columns = [...new Set(there.size ? there.values() : tables)].flatMap((one) => one.table.columns.map(columnOf(one)));
    const words = KEYWORDS.map((word) => ({ text: word, insert: word, about: "" }));
    known = /\S\s+\S*$/.test(before) ? [...columns, ...tables.map(tableItem), ...words] : words;
  }
  const start = begun.toLowerCase();
  const fitting = known.filter((one) => one.text.toLowerCase().startsWith(start));
  const items = fitting.filter((one, place) => fitting.findIndex((other) => other.insert === one.insert) === place).slice(0, MOST);
  // What is written already needs no completion.
  const whole = items.length === 1 && items[0].insert.toLowerCase() === start;
  return { from: caret - begun.length, items: whole ? [] : items };
}
