/* Two agents' handovers in a loop, at the same instant: the end of the caller's turn. Both sounds run all the time and one is
   silent, so a switch only changes which is heard and loses no position. Two players never start together, so the silent one is
   led after the heard one by its speed, which nobody hears. A page from disk may not read its sound files, only play them. */
const HANDOVER = { lead_ms: 1500, after_ms: 1500, close_ms: 4, lost_ms: 400 };
const endOf = (turn) => lastOf(turn).spoken_end_ms;
const heardFrom = (turn) => lastOf(turn).figures_ms.ttfa ?? (turn.agent_spans.find((span) => span[2] > endOf(turn))?.[1] ?? endOf(turn)) - endOf(turn);
const handoverLoop = (turns, show) => {
  const span = { from: -Math.min(HANDOVER.lead_ms, ...turns.map(endOf)), to: Math.max(0, ...turns.map(heardFrom)) + HANDOVER.after_ms };
  const sounds = turns.map((turn) => el("audio", { src: turn.audio, preload: "none" }));
  let heard = 0, runs = false;
  const place = (k) => sounds[k].currentTime * 1000 - endOf(turns[k]);
  const ready = () => sounds.every((sound) => sound.readyState > 0);
  const aloud = () => sounds.forEach((sound, k) => { sound.muted = k !== heard || !ready(); });
  const rewind = () => sounds.forEach((sound, k) => {
    sound.playbackRate = 1;
    sound.currentTime = (endOf(turns[k]) + span.from) / 1000;
    if (sound.paused) sound.play().catch((error) => { if (runs && error.name !== "AbortError") { stop(); show.lost(error.name); } });
  });
  const follow = () => {
    const led = sounds[1 - heard], apart = place(heard) - place(1 - heard);
    sounds[heard].playbackRate = 1;
    if (sounds.some((sound) => sound.seeking || sound.ended)) return;
    if (Math.abs(apart) > HANDOVER.lost_ms) led.currentTime += apart / 1000;
    else led.playbackRate = Math.abs(apart) < HANDOVER.close_ms ? 1 : Math.max(0.75, Math.min(1.35, 1 + apart / 300));
  };
  const tick = () => {
    if (!runs) return;
    if (ready()) {
      const clock = sounds[heard].ended ? 1 - heard : heard; /* A sound may end before the loop does. */
      if (sounds.every((sound) => sound.ended) || place(clock) >= span.to || place(clock) < span.from - 100) rewind(); else follow();
      aloud();
      show.at(place(clock));
    }
    requestAnimationFrame(tick);
  };
  const stop = () => {
    if (!runs) return;
    runs = false;
    sounds.forEach((sound) => sound.pause());
    if (playing === self) playing = null;
    show.stopped();
  };
  const start = () => {
    if (playing && playing !== self) playing.pause();
    playing = self;
    runs = true;
    aloud();
    rewind();
    show.heard(heard);
    requestAnimationFrame(tick);
  };
  const choose = (k) => { heard = k; aloud(); if (runs) show.heard(heard); else start(); };
  const self = { pause: stop, stop, choose, sounds, runs: () => runs, next: () => choose(runs ? 1 - heard : heard) };
  return self;
};
const handoverPanel = (turns) => {
  const [note, clock] = [el("span", { role: "status" }), el("span", { class: "clock", "aria-hidden": "true" })];
  const label = (k) => el("button", { type: "button", "aria-pressed": "false", onclick: () => loop.choose(k) }, "Hear ", said(turns[k].agent));
  const both = turns.map((_, k) => label(k));
  const halt = el("button", { type: "button", disabled: true, onclick: () => loop.stop() }, "Stop");
  const press = (k) => both.forEach((button, j) => { button.setAttribute("aria-pressed", String(j === k)); button.classList.toggle("on", j === k); });
  const loop = handoverLoop(turns, {
    at: (at_ms) => { clock.textContent = at_ms < 0 ? `${(-at_ms / 1000).toFixed(1)} s before the caller ends` : `${(at_ms / 1000).toFixed(1)} s after the caller's end`; },
    heard: (k) => { press(k); halt.disabled = false; note.replaceChildren("Now ", said(turns[k].agent), "."); },
    stopped: () => { press(-1); if (document.activeElement === halt) both[0].focus(); halt.disabled = true; clock.textContent = ""; note.textContent = "Stopped."; },
    lost: (why) => { note.textContent = why === "NotAllowedError" ? "This browser did not let the page play a sound; press again." : "An audio file is not beside the page."; },
  });
  const box = el("div", { class: "player handover", role: "group", "aria-label": "Both handovers in a loop" },
    el("b", {}, "Both handovers, in a loop"), both, halt, note, clock,
    el("p", { class: "hint" }, "Both are at the same instant, from 1.5 s before the caller's end. The key x starts and switches, Escape stops."), loop.sounds);
  return { box, loop };
};
/* One turn of each of the two agents: the first with sound, of the same repeat and line if there is one. */
const handoverTurns = (data, names) => {
  const [mine, other] = names.map((name) => data.turns.filter((turn) => turn.agent === name && turn.audio && endOf(turn) !== null));
  const like = (turn) => other.find((one) => one.repeat === turn.repeat && one.condition === turn.condition) ?? other[0];
  return mine.length && other.length ? [mine[0], like(mine[0])] : null;
};
const handovers = new Map();
const endHandover = (card) => { const found = handovers.get(card); if (found) { found.loop.stop(); found.box.remove(); handovers.delete(card); } };
const showHandover = async (card) => {
  const { agent, with: other } = chosen();
  const pair = JSON.stringify([agent, other]);
  const found = handovers.get(card);
  if (found && (found.pair !== pair || card.hidden || !card.open)) endHandover(card);
  if (!agent || !other || agent === other || card.hidden || !card.open || handovers.has(card)) return;
  const data = await conversation(card.dataset.index);
  const turns = handoverTurns(data, [agent, other]);
  const after = card.querySelector(".compared");
  if (!turns || !after || handovers.has(card) || JSON.stringify([chosen().agent, chosen().with]) !== pair) return;
  const made = { ...handoverPanel(turns), pair };
  handovers.set(card, made);
  after.after(made.box);
};
cards.forEach((card) => card.addEventListener("toggle", () => { if (!card.open) endHandover(card); else if (card.querySelector(".compared")) showHandover(card); }));
addEventListener("hashchange", () => handovers.forEach(({ loop }) => loop.stop()));
/* The keys work where nothing else has the focus, and in the conversation itself. */
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest?.("textarea, select, input:not([type=range])")) return;
  const [card, found] = [...handovers].find(([, one]) => one.loop.runs()) ?? [...handovers].find(([one]) => one.contains(event.target) || one.dataset.index === String(page.contexts.findIndex((entry) => entry.id === shown.context))) ?? [];
  if (!found) return;
  if (event.key === "Escape") found.loop.stop();
  else if (event.key === "x" && !event.repeat && (event.target === document.body || card.contains(event.target))) { event.preventDefault(); found.loop.next(); }
});
