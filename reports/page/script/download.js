/* What the board shows, as a table for other programs: one row a turn, with the words, the latencies and how often each judge, and
   people, preferred the reply. */
const FLAG_NAMES = { over_budget: 1, cut_in_or_pause_cut: 2, no_reply: 4, failed: 8, discarded: 16, judges_disagree: 32, ranks_slowest: 64, machine_cannot_tell: 128 };
const preferred = (data, turn) => Object.fromEntries(data.tally.filter(([system, repeat]) => system === turn.agent && repeat === turn.repeat)
  .flatMap(([, , rater, isPeople, presentation, won, ties, all]) => {
    const name = `${rater} (${presentation.replaceAll("_", " ")})`;
    return [[`${name}: ${isPeople ? "votes" : "verdicts"}`, all], [`${name}: preferred_share`, Math.round((1000 * (won + ties / 2)) / all) / 1000]];
  }));
const rowsOf = (entry, data) => {
  const shownAgents = columns().filter((k) => entry.flags[k] >= 0).map((k) => page.agents[k]);
  return data.turns.filter((turn) => shownAgents.includes(turn.agent)).map((turn) => {
    const k = page.agents.indexOf(turn.agent);
    const of = page.spoken[k] ? "ttfa" : "ttft";
    const last = lastOf(turn);
    const figure = (name) => (last.discarded || turn.slowest || last.figures_ms[name] === undefined ? null : Math.round(last.figures_ms[name]));
    return { run: page.run, context: entry.id, subset: entry.subset, emotion: entry.emotion, problem: entry.problem, agent: turn.agent, repeat: turn.repeat,
      caller_text: data.history.at(-1)?.[1] ?? null, reply_heard: turn.heard, latency_ms: figure(of), latency_of: of, ttft_ms: figure("ttft"), ttfa_ms: figure("ttfa"),
      ...Object.fromEntries(Object.entries(FLAG_NAMES).map(([name, bit]) => [name, Boolean(entry.flags[k] & bit)])), ...preferred(data, turn) };
  });
};
/* Conversations are unpacked one by one, a breath between, as in a search; all rows have the columns of all. */
const boardRows = async () => {
  const cardsShown = visibleCards();
  const note = document.getElementById("tools-note");
  const rows = [];
  for (const [n, card] of cardsShown.entries()) {
    rows.push(...rowsOf(page.contexts[card.dataset.index], await conversationOnce(card.dataset.index)));
    if (n % 10 === 9) { note.textContent = `Reading ${n + 1} of ${cardsShown.length}`; await new Promise((done) => { setTimeout(done); }); }
  }
  note.textContent = rows.length ? "" : "No turn is shown, so the file is empty.";
  const names = [...new Set(rows.flatMap(Object.keys))];
  return rows.map((row) => Object.fromEntries(names.map((name) => [name, row[name] ?? null])));
};
/* A spreadsheet runs a cell that begins like a formula; such text gets a quote in front, as spreadsheets write it. A character that
   cannot be shown would move the cursor of whoever prints the file; it becomes a dot. Both as in the program's own files. */
const cell = (value) => {
  const text = value === null ? "" : String(value).replaceAll("\r\n", "\n").replace(/(?![\n\t])[\p{C}\p{Zl}\p{Zp}]/gu, "·");
  const safe = typeof value === "string" && /^'*[=+\-@\t]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};
const csv = (rows) => [Object.keys(rows[0] ?? { context: "" }), ...rows.map(Object.values)].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
const download = (name, type, text) => {
  const link = el("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
};
/* The conditions of the run are a column that is filled in the first row alone: a comment above the heading would break readers of CSV. */
document.getElementById("download-csv").addEventListener("click", async () => download("board.csv", "text/csv",
  csv((await boardRows()).map((row, k) => ({ ...row, made_under: k ? null : page.made_under })))));
document.getElementById("download-json").addEventListener("click", async () => download("board.json", "application/json",
  `${JSON.stringify({ schema: 1, run: page.run, conditions: page.made_under, chosen: chosen(), rows: await boardRows() }, null, 1)}\n`));
