/* One conversation: what was said before, each agent's reply with its sound and its times, and the verdicts. */
const PAUSE = /<pause (\d+)>/g;
/* Where every agent reads, nobody hears a pause. */
const isHeard = page.spoken.some(Boolean) || !page.spoken.length;
const withPauses = (text) => {
  if (!isHeard) return [text.replace(/\s*<pause \d+>\s*/g, " ").trim()];
  const parts = [];
  let from = 0;
  for (const match of text.matchAll(PAUSE)) {
    parts.push(text.slice(from, match.index), el("span", { class: "pause" }, `(pause of ${match[1]} ms)`));
    from = match.index + match[0].length;
  }
  return [...parts, text.slice(from)];
};
const dialogue = (said, lastRole, named = (role) => role) => el("ol", { class: "dialogue" }, said.map(([role, text], k) => {
  const spoken = k === said.length - 1;
  return el("li", { class: `${role}${spoken ? " spoken" : ""}`, dir: "auto" }, el("b", {}, spoken ? lastRole(role) : named(role)), withPauses(text));
}));
const replayed = (turn) => (turn.replayed.length
  ? el("details", { class: "more" }, el("summary", {}, "What was really said in this replay"), dialogue(turn.replayed, (role) => `${role}, before the reply that is judged`))
  : null);
const words = (label, text) => (text === null || text === undefined ? null : el("div", {}, el("span", {}, label), el("p", { dir: "auto", tabindex: text.length > 900 ? 0 : null }, text || "(nothing)")));
const chips = (turn, last) => [
  turn.status === "failed" ? ["failed", "bad"] : null,
  last.no_reply ? ["no reply within 15 s", "bad"] : null,
  turn.unspoken ? [turn.unspoken.words, "bad"] : null,
  last.cut_in ? ["cut in on the caller", "warn"] : null,
  turn.pauses.some((s) => s[0] === "cut") ? ["cut a pause", "warn"] : null,
  last.discarded ? [`discarded: ${last.discarded}`, ""] : null,
  ...last.labels.map((text) => [text, ""]),
].filter(Boolean).map(([text, kind]) => el("span", { class: `chip ${kind}` }, said(text)));
const figures = (turn, last) => {
  const shown = Object.entries(last.figures_ms);
  if (!shown.length) return null;
  return el("details", { class: "more" }, el("summary", {}, "All figures and marks"),
    el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "All figures" }, el("table", {}, el("tbody", {},
      shown.map(([name, value]) => el("tr", {}, el("th", { scope: "row" }, page.metrics[name] ?? name.replaceAll("_", " ")), el("td", { class: "n" }, ms(value)), el("td", {}, last.owed[name] ?? ""))),
      turn.marks.map(([name, at]) => el("tr", {}, el("th", { scope: "row" }, "mark: ", said(name)), el("td", { class: "n" }, ms(at - (last.spoken_end_ms ?? 0)))))))));
};
const linkButton = (turn, index) => {
  const note = el("span", { role: "status", class: "hint" });
  const copy = () => copyLink(note, linkTo({ context: page.contexts[index].id, agent: turn.agent, with: "" }));
  return el("span", { class: "link" }, el("button", { type: "button", class: "plain", "aria-label": `Copy a link to this turn of ${turn.agent}`, onclick: copy }, "Copy link"), note);
};
const turnCard = (turn, index, scale) => {
  const line = timeline(turn);
  const drawable = turn.caller.length > 0 || turn.agent_spans.length > 0;
  const last = lastOf(turn), { ttfa, ttft, answer: answered } = last.figures_ms;
  const recorded = turn.mode === "recorded" && turn.each.length > 0;
  const many = turn.each.length > 1;
  const speed = many ? medianWait(turn) : last.discarded ? undefined : ttfa ?? ttft;
  const name = many ? "median TTFA" : ttfa === undefined && ttft !== undefined ? "TTFT" : "TTFA";
  const filler = turn.agent_spans.some((span) => span[0] === "filler" && span[1] >= last.spoken_end_ms);
  const answer = recorded || many || !filler || answered === ttfa ? "" : `, answer ${ms(answered ?? null)}`;
  const variant = [turn.mode === "replay" ? "replay" : "", turn.condition && turn.condition !== "clean" ? turn.condition : "", turn.repeat ? `repeat ${turn.repeat}` : ""].filter(Boolean).join(", ");
  return el("article", { class: "turn", id: `c-${index}-${turn.session}`, "data-agent": turn.agent },
    el("header", {}, el("h3", {}, said(turn.agent), variant ? ` (${variant})` : ""), linkButton(turn, index), speed === undefined ? null : el("span", { class: "big" }, `${name} ${ms(speed)}${answer}`), speed === undefined ? null : el("span", { class: "hint" }, last.owed[name.toLowerCase()] ?? ""), recorded ? null : chips(turn, last)),
    turn.to_judge ? el("p", { class: "chip warn" }, "This reply speaks to a judge or a model, and not to the caller.") : null,
    turn.failure ? el("p", { class: "chip bad" }, said(turn.failure)) : null,
    replayed(turn), drawable ? line.box : null, drawable ? line.legend : null, drawable ? player(turn, line) : null, eachTurn(turn, line.hear),
    el("div", { class: "words" }, words("heard (transcribed from the audio)", turn.heard), words("written by the agent", turn.written), words("understood of the seeker", turn.understood)),
    turn.stages.length || (ttfa !== undefined && turn.mode !== "recorded") ? waterfall(turn, scale) : null, recorded ? null : figures(turn, last));
};
const verdictsAndVotes = ({ verdicts, votes }) => [verdicts || !votes ? counted(verdicts, "verdict") : null, votes ? `${counted(votes, "vote")} by people` : null].filter(Boolean).join(", ");
const LONG_REASON = 240;
const reason = (text) => (text.length <= LONG_REASON ? text || "—" : el("details", { class: "reason" }, el("summary", {}, `${text.slice(0, LONG_REASON / 2)}… `, el("small", {}, "the whole reason")), el("p", {}, text)));
const verdictTable = (data) => {
  if (!data.judgments.length) return el("p", { class: "hint" }, "No verdict on this conversation.");
  const winner = (row) => (row.winner === "tie" ? "same" : (row.winner === "a" ? row.system_a : row.system_b));
  const axes = (row) => Object.entries(row.axes).map(([axis, [who, strength]]) => `${axis}: ${who === "tie" ? "same" : (who === "a" ? row.system_a : row.system_b)} (${strength})`).join("; ");
  const isDisputed = (row) => data.disputed.some((pair) => pair.includes(row.system_a) && pair.includes(row.system_b));
  return el("details", { class: "more", open: data.disputed.length > 0 && chosen().flag === "disputed" }, el("summary", {}, verdictsAndVotes(data)),
    data.disputed.length ? el("p", { class: "chip warn" }, `Judges disagree on ${counted(data.disputed.length, "pair")}, listed first.`) : null,
    data.verdicts + data.votes > data.judgments.length ? el("p", { class: "hint" }, `The first ${data.judgments.length} are shown; all stand in judgments.csv.`) : null,
    el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Verdicts" }, el("table", { class: "verdict-row" },
      el("thead", {}, el("tr", {}, ["Pair", "Preferred", "Strength", "Judge", "Shown first", "Why"].map((t) => el("th", { scope: "col" }, t)))),
      el("tbody", {}, data.judgments.map((row) => el("tr", { class: isDisputed(row) ? "disputed" : null },
        el("td", {}, said(row.system_a), " / ", said(row.system_b)), el("td", {}, said(winner(row))), el("td", { class: "n" }, row.strength),
        el("td", {}, said(row.judge), row.human ? " (person)" : "", row.own_family ? el("span", { class: "chip warn" }, "own family") : null, row.to_judge.map((who) => el("span", { class: "chip warn" }, said(who), " speaks to the judge")), row.presentation === "written" ? null : el("small", {}, row.presentation.replaceAll("_", " "))),
        el("td", {}, row.shown_first ? said(row.shown_first === "a" ? row.system_a : row.system_b) : "—"),
        el("td", { dir: "auto" }, reason(row.rationale), axes(row) ? el("small", {}, axes(row)) : null)))))));
};
const showConversation = async (details) => {
  const body = details.querySelector(".body");
  if (body.dataset.shown) return;
  body.dataset.shown = "yes";
  const index = Number(details.dataset.index);
  const data = await conversation(index);
  const scale = waterfallScale(data.turns);
  body.replaceChildren(
    data.situation ? el("p", { class: "hint", dir: "auto" }, data.situation) : "", data.history.some(([, text]) => text) ? dialogue(data.history, (role) => `${role}, ${isHeard ? "spoken" : "sent"} to every agent`) : "",
    el("p", { class: "compared", hidden: true }),
    el("div", { class: "turns" }, data.turns.map((turn) => turnCard(turn, index, scale))),
    data.turns.length ? "" : el("p", { class: "empty" }, "No agent has played this conversation."),
    data.references.length ? el("div", {}, el("h3", {}, "References on the same board"), el("div", { class: "words" }, data.references.map(([system, author, text]) => words(`${system}, ${author}`, text)))) : "",
    el("h3", {}, "Verdicts"), verdictTable(data));
  showTurns(body);
  compare(details);
};
