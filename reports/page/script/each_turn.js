/* Every turn of a call: its times, and its sound at a press. */
const clockOf = (at_ms) => `${Math.floor(at_ms / 60000)}:${(at_ms / 1000 % 60).toFixed(1).padStart(4, "0")}`;
const NO_TURN = { figures_ms: {}, owed: {}, spoken_end_ms: null, labels: [] };
const lastOf = (turn) => turn.each.at(-1) ?? NO_TURN;
const medianWait = (turn) => {
  const waits = turn.each.filter((one) => !one.discarded && "ttfa" in one.figures_ms).map((one) => one.figures_ms.ttfa).sort((a, b) => a - b);
  const middle = waits.length / 2;
  return waits.length ? (waits[Math.ceil(middle) - 1] + waits[Math.floor(middle)]) / 2 : undefined;
};
const notesOf = (turn) => [
  turn.no_reply ? "no reply" : null,
  turn.figures_ms.signed === undefined ? null : `began ${ms(-turn.figures_ms.signed)} before the caller's end`,
  turn.backchannels ? counted(turn.backchannels, "backchannel") : null,
  turn.cut_in ? "cut in on the caller" : null,
  turn.figures_ms.yield === undefined ? null : `talked on for ${ms(turn.figures_ms.yield)} when interrupted`,
  ...turn.labels,
  turn.discarded || null,
  turn.owed.ttfa || null,
].filter(Boolean).join("; ");
const eachTurn = (turn, hear) => {
  const left = turn.unspoken;
  if (!turn.is_call || (!turn.each.length && !left)) return null;
  const answers = turn.each.some(({ figures_ms }) => (figures_ms.answer ?? figures_ms.ttfa) !== figures_ms.ttfa);
  const heads = ["Caller's turn", "TTFA", ...(answers ? ["Answer"] : []), "Dead air", "Pauses cut"];
  const spoken = turn.each.some((one) => one.words !== null);
  const row = (one) => el("tr", {},
    el("th", { scope: "row" }, hear ? el("button", { type: "button", class: "plain", "aria-label": `Hear the handover of turn ${one.number} of ${turn.agent}`, onclick: () => hear(one.spoken_end_ms) }, `${one.number}, ends at ${clockOf(one.spoken_end_ms)}`) : `${one.number}, ends at ${clockOf(one.spoken_end_ms)}`),
    el("td", { class: "n" }, ms(one.figures_ms.ttfa ?? null)), answers ? el("td", { class: "n" }, ms(one.figures_ms.answer ?? null)) : null, el("td", { class: "n" }, ms(one.figures_ms.dead_air ?? null)),
    el("td", { class: "n" }, one.inner_pauses[1] ? one.inner_pauses.join(" of ") : "—"),
    el("td", {}, notesOf(one) || "—"), spoken ? el("td", { dir: "auto" }, one.words || "—") : null);
  const unspoken = Array.from({ length: left?.turns ?? 0 }, (_, k) => el("tr", { class: "unspoken" },
    el("th", { scope: "row" }, `${left.of - left.turns + k + 1}, unspoken`), el("td", { colspan: heads.length + (spoken ? 1 : 0) }, `Never spoken, ${left.why}`)));
  return el("details", { class: "more each", open: Boolean(left) }, el("summary", {}, `Every turn of this call: ${left ? left.words : turn.each.length}`),
    el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Every turn of ${turn.agent}` }, el("table", {},
      el("thead", {}, el("tr", {}, [...heads, "Notes", ...(spoken ? ["Heard"] : [])].map((t, k) => el("th", { scope: "col", class: k > 0 && k < heads.length ? "n" : null }, t)))),
      el("tbody", {}, turn.each.map(row), unspoken))));
};
