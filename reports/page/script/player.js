/* The timeline of one session: caller, agent and marks on one scale, with a moving playhead when there is audio. */
const percent = (value, total) => `${Math.max(0, Math.min(100, (100 * value) / total)).toFixed(3)}%`;
const bar = (span, total, kind, title) => el("b", {
  class: kind, title: title ?? `${span[0]}: ${ms(span[1])} to ${ms(span[2])}`,
  style: { left: percent(span[1], total), width: percent(span[2] - span[1], total) },
});
const wave = (digits, total, length, colour) => {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", `0 0 ${digits.length} 72`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  const heights = [...digits].map((digit) => parseInt(digit, 36));
  const above = heights.map((h, k) => `${k} ${36 - h}`).join("L");
  const below = heights.map((h, k) => `${k} ${36 + h}`).reverse().join("L");
  path.setAttribute("d", `M${above}L${below}Z`);
  path.style.fill = colour;
  svg.append(path);
  return svg;
};
/* Kinds of the agent's sound that are not its answer, and how each is drawn. */
const LOOKS = { filler: "hatched", breath: "hatched", backchannel: "outlined", withdrawn: "dashed", nonvocal: "pale" };
const timelineLength = (turn) => {
  const ends = [...turn.caller, ...turn.agent_spans, ...turn.marks].map((span) => span[2]);
  return Math.max(1000, ...ends) + 400;
};
const lane = (label, kind, ...content) => el("div", { class: `lane ${kind}` }, el("span", {}, label), el("div", { class: "track" }, content));
const timeline = (turn) => {
  const total = turn.length_ms ?? timelineLength(turn);
  const waiting = turn.each.map((one) => [one.spoken_end_ms, one.figures_ms.ttfa]).filter(([, heard]) => heard > 0)
    .map(([end, heard]) => bar(["waiting", end, end + heard], total, "wait", `silence the caller lives through: ${ms(heard)}`));
  const [callerWave, agentWave] = turn.envelope ?? [null, null];
  const box = el("div", { class: `timeline${turn.envelope ? " has-wave" : ""}` },
    lane("caller", "", callerWave ? wave(callerWave, total, total, "var(--caller)") : null, turn.caller.map((s) => bar(s, total, "caller")),
      turn.pauses.map((s) => bar(s, total, `gap ${s[0]}`, `pause of ${ms(s[2] - s[1])}${s[0] === "cut" ? ", cut by the agent" : ""}`))),
    lane("agent", "", waiting, agentWave ? wave(agentWave, total, total, "var(--agent)") : null, turn.agent_spans.map((s) => bar(s, total, `agent ${s[0]}`))),
    turn.marks.length ? lane("marks", "marks", turn.marks.map((s) => el("i", { title: `${s[0]}: ${ms(s[1])}`, style: { left: percent(s[1], total) } }))) : null);
  const head = el("i");
  box.append(el("div", { class: "playhead", hidden: !turn.audio }, head));
  const kinds = Object.entries(LOOKS).filter(([kind]) => turn.agent_spans.some((span) => span[0] === kind));
  const legend = kinds.length ? el("p", { class: "hint" }, `Of the agent's sound: ${kinds.map(([kind, looks]) => `${kind === "nonvocal" ? "no voice" : kind} ${looks}`).join(", ")}.`) : null;
  return { box, legend, total, move: (at_ms) => { head.style.left = percent(at_ms, total); } };
};
/* What sounds at an instant, in words, for those who hear the slider and do not see the lanes. */
const soundingAt = (turn, at) => {
  const inside = (spans) => spans.find((span) => at >= span[1] && at < span[2]);
  const agent = inside(turn.agent_spans);
  const who = [inside(turn.caller) ? "the caller speaks" : null, agent ? `the agent sounds${agent[0] in LOOKS ? ` (${agent[0]})` : ""}` : null].filter(Boolean);
  if (who.length) return who.join(" and ");
  return inside(turn.pauses) ? "a pause of the caller" : "silence";
};
const STEPS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 5, PageDown: -5 };
/* A press anywhere on the lanes moves the sound there, and a drag drags it. */
const seekBy = (box, total, to) => {
  const follow = (event) => {
    const track = box.querySelector(".track").getBoundingClientRect();
    if (event.clientX >= track.left - 8) to(Math.max(0, Math.min(1, (event.clientX - track.left) / track.width)) * total);
  };
  box.classList.add("seekable");
  box.addEventListener("pointerdown", (event) => { if (event.button === 0 && event.target.closest(".track")) { box.setPointerCapture(event.pointerId); follow(event); } });
  box.addEventListener("pointermove", (event) => { if (box.hasPointerCapture(event.pointerId)) follow(event); });
};
let playing = null;
const player = (turn, line) => {
  if (!turn.audio) return el("p", { class: "hint" }, "No audio of this session lies beside the page.");
  const audio = el("audio", { src: turn.audio, preload: "none" });
  const button = el("button", { type: "button", "aria-label": `Play ${turn.agent}` }, "Play");
  const seek = el("input", { type: "range", min: 0, max: line.total, step: 10, value: 0, "aria-label": `Position in ${turn.agent}` });
  const clock = el("span", { class: "clock" });
  const note = el("span", { role: "status" });
  let wanted = 0; /* Where the reader put it: the sound itself is fetched only when it is played. */
  let placed = false; /* Until the sound is there and stands where the reader put it, its own clock says 0. */
  const show = (at) => {
    line.move(at);
    seek.value = at;
    clock.textContent = `${(at / 1000).toFixed(1)} of ${(line.total / 1000).toFixed(1)} s`;
    seek.setAttribute("aria-valuetext", `${(at / 1000).toFixed(1)} seconds of ${(line.total / 1000).toFixed(1)}: ${soundingAt(turn, at)}`);
  };
  const tick = () => { if (placed) wanted = audio.currentTime * 1000; show(wanted); if (!audio.paused) requestAnimationFrame(tick); };
  const to = (at) => { wanted = Math.max(0, Math.min(line.total, at)); if (placed) audio.currentTime = wanted / 1000; show(wanted); };
  const play = () => audio.play().catch(() => {});
  const label = () => { const on = !audio.paused; button.textContent = on ? "Pause" : "Play"; button.classList.toggle("on", on);
    button.setAttribute("aria-label", `${on ? "Pause" : "Play"} ${turn.agent}`); };
  audio.addEventListener("play", () => { if (playing && playing !== audio) playing.pause(); playing = audio; label(); tick(); });
  audio.addEventListener("pause", label);
  audio.addEventListener("loadedmetadata", () => { if (wanted > 0) audio.currentTime = wanted / 1000; placed = true; });
  audio.addEventListener("error", () => { note.textContent = "The audio file is not beside the page."; });
  button.addEventListener("click", () => (audio.paused ? play() : audio.pause()));
  seek.addEventListener("input", () => to(Number(seek.value)));
  seek.addEventListener("keydown", (event) => {
    const to_ms = { Home: 0, End: line.total }[event.key] ?? (event.key in STEPS ? wanted + 1000 * STEPS[event.key] : null);
    if (to_ms === null || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    to(to_ms);
  });
  seekBy(line.box, line.total, to);
  line.box.append(el("div", { class: "lane slider" }, el("span", {}, "sound"), el("div", {}, seek)));
  show(0);
  line.hear = (end_ms) => { to(end_ms - 1500); play(); };
  const end_ms = lastOf(turn).spoken_end_ms;
  const jump = end_ms === null ? null : el("button", { type: "button", onclick: () => line.hear(end_ms) }, "Hear the handover");
  return el("div", { class: "player" }, audio, button, jump, clock, note);
};
