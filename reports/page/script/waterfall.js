/* Where the time from spoken end to first sound went. What the marks do not explain is a row of its own. Below, what model servers
   did during the waits for them. All waterfalls of a conversation have one scale, or 1.2 s would be as long as 0.6 s beside it. */
const waterfallScale = (turns) => {
  const stages = turns.flatMap((turn) => turn.stages);
  const every = [...stages, ...turns.flatMap((turn) => [...turn.hidden, ...turn.served.flatMap(([, parts]) => parts)])];
  const start = Math.min(0, ...every.map((s) => s[1]));
  return { start, total: Math.max(1, ...stages.map((s) => s[2])) - start };
};
const waterfall = (turn, { start, total }) => {
  if (!turn.stages.length) return el("p", { class: "hint" }, "No waterfall: the agent stamped no marks, or nothing was heard.");
  const row = (span, kind, colour, label) => el("div", { class: kind },
    el("span", {}, said(label ?? page.stages[span[0]]?.label ?? span[0])),
    el("div", { class: "track" }, el("b", { style: { left: percent(span[1] - start, total), width: percent(span[2] - span[1], total), background: colour } })),
    el("span", { class: "ms" }, ms(span[2] - span[1])));
  const sum = turn.stages.reduce((all, span) => all + span[2] - span[1], 0);
  return el("div", {},
    el("div", { class: "waterfall", role: "group", "aria-label": "Waterfall from spoken end to first sound" },
      turn.stages.map((s) => row(s, s[0], page.stages[s[0]]?.colour ?? "var(--quiet)")),
      turn.hidden.map((s) => row([`${s[0]} (behind a wait)`, s[1], s[2]], "hidden", "var(--quiet)"))),
    el("p", { class: "hint" }, `The stages sum to ${ms(sum)}; work behind a wait is drawn beside and not summed.`,
      turn.stages_note ? ` ${turn.stages_note}` : "",
      turn.refused.length ? ` Refused as impossible: ${turn.refused.join(", ")}.` : ""),
    turn.served.map(([name, parts, note]) => [
      el("div", { class: "waterfall", role: "group", "aria-label": `${name}: what its server did` },
        parts.map((s) => row(s, s[0], page.parts[s[0]]?.colour ?? "var(--quiet)", `${name}: ${page.parts[s[0]]?.label ?? s[0]}`))),
      el("p", { class: "hint" }, note)]));
};
