/* What the board shows, as a table for other programs: one row a conversation and agent, under the conditions of the run. */
const FLAG_NAMES = { over_budget: 1, cut_in_or_pause_cut: 2, no_reply: 4, failed: 8, discarded: 16, judges_disagree: 32, ranks_slowest: 64 };
const boardRows = () => visibleCards().flatMap((card) => {
  const entry = page.contexts[card.dataset.index];
  return columns().filter((k) => entry.flags[k] >= 0).map((k) => ({
    context: entry.id, subset: entry.subset, emotion: entry.emotion, problem: entry.problem, agent: page.agents[k],
    latency_ms: entry.ms[k], latency_of: page.spoken[k] ? "ttfa" : "ttft",
    ...Object.fromEntries(Object.entries(FLAG_NAMES).map(([name, bit]) => [name, Boolean(entry.flags[k] & bit)])), made_under: page.made_under }));
});
/* A spreadsheet runs a cell that begins like a formula; such text gets a quote in front, as spreadsheets write it. */
const cell = (value) => {
  const text = value === null ? "" : String(value);
  const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};
const csv = (rows) => [Object.keys(rows[0] ?? { context: "" }), ...rows.map(Object.values)].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
const download = (name, type, text) => {
  const link = el("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
};
document.getElementById("download-csv").addEventListener("click", () => download("board.csv", "text/csv", csv(boardRows())));
document.getElementById("download-json").addEventListener("click", () => download("board.json", "application/json",
  `${JSON.stringify({ schema: 1, run: page.run, conditions: page.made_under, chosen: chosen(), rows: boardRows() }, null, 1)}\n`));
