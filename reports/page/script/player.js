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
const timelineLength = (turn) => {
  const ends = [...turn.caller, ...turn.agent_spans, ...turn.marks].map((span) => span[2]);
  return Math.max(1000, ...ends) + 400;
};
const lane = (label, kind, ...content) => el("div", { class: `lane ${kind}` }, el("span", {}, label), el("div", { class: "track" }, content));
const timeline = (turn) => {
  const total = turn.length_ms ?? timelineLength(turn);
  const heard = turn.figures_ms.ttfa;
  const waiting = turn.spoken_end_ms !== null && heard > 0
    ? [bar(["waiting", turn.spoken_end_ms, turn.spoken_end_ms + heard], total, "wait", `silence the caller lives through: ${ms(heard)}`)] : [];
  const [callerWave, agentWave] = turn.envelope ?? [null, null];
  const box = el("div", { class: `timeline${turn.envelope ? " has-wave" : ""}` },
    lane("caller", "", callerWave ? wave(callerWave, total, total, "var(--caller)") : null, turn.caller.map((s) => bar(s, total, "caller")),
      turn.pauses.map((s) => bar(s, total, `gap ${s[0]}`, `pause of ${ms(s[2] - s[1])}${s[0] === "cut" ? ", cut by the agent" : ""}`))),
    lane("agent", "", waiting, agentWave ? wave(agentWave, total, total, "var(--agent)") : null, turn.agent_spans.map((s) => bar(s, total, `agent ${s[0]}`))),
    turn.marks.length ? lane("marks", "marks", turn.marks.map((s) => el("i", { title: `${s[0]}: ${ms(s[1])}`, style: { left: percent(s[1], total) } }))) : null);
  const head = el("i");
  box.append(el("div", { class: "playhead", hidden: !turn.audio }, head));
  return { box, total, move: (at_ms) => { head.style.left = percent(at_ms, total); } };
};
let playing = null;
const player = (turn, line) => {
  if (!turn.audio) return el("p", { class: "hint" }, "No audio of this session lies beside the page.");
  const audio = el("audio", { src: turn.audio, preload: "none" });
  const button = el("button", { type: "button", "aria-label": `Play ${turn.agent}` }, "Play");
  const seek = el("input", { type: "range", min: 0, max: line.total, step: 10, value: 0, "aria-label": `Position in ${turn.agent}` });
  const clock = el("span", {}, "0.0 s");
  const note = el("span", { role: "status" });
  const tick = () => {
    const at = audio.currentTime * 1000;
    line.move(at);
    seek.value = at;
    clock.textContent = `${audio.currentTime.toFixed(1)} s`;
    if (!audio.paused) requestAnimationFrame(tick);
  };
  const to = (at_ms) => { audio.currentTime = at_ms / 1000; tick(); };
  const label = () => { const on = !audio.paused; button.textContent = on ? "Pause" : "Play"; button.classList.toggle("on", on);
    button.setAttribute("aria-label", `${on ? "Pause" : "Play"} ${turn.agent}`); };
  audio.addEventListener("play", () => { if (playing && playing !== audio) playing.pause(); playing = audio; label(); tick(); });
  audio.addEventListener("pause", label);
  audio.addEventListener("loadedmetadata", () => { if (Number.isFinite(audio.duration)) seek.max = Math.max(line.total, audio.duration * 1000); });
  audio.addEventListener("error", () => { note.textContent = "The audio file is not beside the page."; });
  button.addEventListener("click", () => (audio.paused ? audio.play().catch(() => {}) : audio.pause()));
  seek.addEventListener("input", () => to(Number(seek.value)));
  const jump = turn.spoken_end_ms === null ? null : el("button", { type: "button", onclick: () => { to(Math.max(0, turn.spoken_end_ms - 1500)); audio.play().catch(() => {}); } }, "Hear the handover");
  return el("div", { class: "player" }, audio, button, jump, seek, clock, note);
};
