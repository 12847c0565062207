/* One rater's session. The server says what is due; this page plays it, asks, and sends the answer until it is taken. */
import { el } from "/asset/el.js";
import { ask, byId, draft, stage, talk, tell, wait } from "/asset/asking.js";

let sounding = null;
/* A sound counts as heard when it has played to its end; it can be heard again, but not skipped through. */
const listener = (label, address, onHeard) => {
  const bar = el("progress", { max: 1, value: 0, "aria-label": `${label}: played` });
  const state = el("span", { class: "state" }, "not heard yet");
  const button = el("button", { type: "button", disabled: true, "aria-label": `Play ${label}` }, "Play");
  const audio = new Audio();
  let heard = false;
  const load = async () => {
    for (let attempt = 0; attempt < 6; attempt += 1) {
      try {
        const reply = await fetch(address);
        if ([403, 507].includes(reply.status)) { tell((await reply.json()).error); return; }
        if (!reply.ok) throw new Error(String(reply.status));
        audio.src = URL.createObjectURL(await reply.blob());
        button.disabled = false;
        return;
      } catch { await wait(500 * 2 ** attempt); }
    }
    tell("A sound could not be loaded. Please reload the page.");
  };
  audio.addEventListener("timeupdate", () => { if (audio.duration && !audio.paused) bar.value = audio.currentTime / audio.duration; });
  audio.addEventListener("ended", () => { bar.value = 1; button.textContent = "Again"; state.textContent = "heard"; if (!heard) { heard = true; onHeard(); } });
  audio.addEventListener("play", () => { if (sounding && sounding !== audio) { sounding.pause(); sounding.currentTime = 0; } sounding = audio; state.textContent = "playing"; button.textContent = "Playing"; });
  audio.addEventListener("pause", () => { if (!audio.ended) { bar.value = heard ? 1 : 0; state.textContent = heard ? "heard" : "not heard yet"; button.textContent = heard ? "Again" : "Play"; } });
  button.addEventListener("click", () => { if (!audio.paused) return; audio.currentTime = 0; audio.play().catch(() => tell("Your browser did not allow sound. Please press Play again.")); });
  load();
  return el("div", { class: "hear" }, button, bar, state);
};
const options = (name, legend, choices) => el("fieldset", {}, el("legend", {}, legend),
  el("div", { class: "options" }, choices.map(([value, text]) => el("label", {}, el("input", { type: "radio", name, value }), el("span", {}, text)))));
const picked = (form, name) => { const found = form.querySelector(`input[name="${name}"]:checked`); return found ? Number(found.value) : null; };
const send = async (step, answer, button) => {
  button.disabled = true;
  if (sounding) sounding.pause();
  const { ok, data, status } = await ask("/answer", { position: step.position, answer });
  if (ok) { if (step.draft) draft(step.draft).sent(); show(data); return; }
  tell(data.error);
  button.disabled = false;
  if (status === 401) location.reload();
};
/* The way on opens when every sound was heard and every question has an answer. */
const form = (step, heading, parts, sounds, ready, answer) => {
  let left = sounds;
  const button = el("button", { type: "submit", class: "main", disabled: true }, "Next");
  const hint = el("p", { class: "quiet" });
  const check = () => { const open = left <= 0 && ready(node); button.disabled = !open; hint.textContent = left > 0 ? `Still to hear: ${left}.` : ""; };
  const node = el("form", { novalidate: true, onsubmit: (event) => { event.preventDefault(); if (!button.disabled) send(step, answer(node), button); }, oninput: check },
    el("h1", { tabindex: -1 }, heading), parts(() => { left -= 1; check(); }), hint, button);
  stage.replaceChildren(node);
  if (step.draft) keepDraft(node, draft(step.draft));
  check();
};
/* What was chosen and typed before a reload comes back; what was heard must be heard again. */
const keepDraft = (node, kept) => {
  for (const [name, value] of Object.entries(kept.kept())) {
    const field = node.elements[name];
    if (field) field.value = value;
  }
  node.addEventListener("input", () => kept.keep(Object.fromEntries(new FormData(node))));
};
const screens = {
  level: (step) => form(step, "Set your volume", (heard) => [el("p", {}, "Please put on headphones, both sides, and sit somewhere quiet. Play the noise and set the volume so that it is as loud as somebody talking to you, then leave it there."),
    el("div", { class: "card" }, listener("the noise", step.sounds[0], heard))], 1, () => true, () => ({})),
  headphones: (step) => form(step, "Which tone is the softest?", (heard) => [step.instruction ? el("p", { class: "note", role: "alert" }, step.instruction) : null,
    el("p", {}, "You will hear three tones. One is softer than the others. This is easy on headphones and hard on loudspeakers, and shows that you hear what the others hear."),
    el("div", { class: "card" }, listener("the three tones", step.sounds[0], heard)), options("tone", "The softest was", [[1, "the first"], [2, "the second"], [3, "the third"]])],
  1, (node) => picked(node, "tone") !== null, (node) => ({ tone: picked(node, "tone") })),
  break: (step) => form(step, "Time for a breath", () => [el("p", {}, "Look away from the screen for a moment, stretch, drink something. Go on when you like. If the conversations weigh on you, it is fine to stop for good.")], 0, () => true, () => ({})),
  pair: (step) => item(step, step.practice ? "Practice: which reply is better?" : "Which reply is better?", [
    options("choice", "For this person, in this moment", step.choices),
    el("fieldset", {}, el("legend", {}, el("label", { for: "reason" }, "Why? A few words are enough.")), el("textarea", { id: "reason", name: "reason", maxlength: 20000, required: true }))],
  (node) => picked(node, "choice") !== null && node.elements.reason.value.trim().length >= step.reason_characters,
  (node) => ({ choice: picked(node, "choice"), reason: node.elements.reason.value })),
  rating: (step) => item(step, step.practice ? "Practice: how good is this reply?" : "How good is this reply?",
    step.scales.map(([name, question, labels]) => options(name, question, labels.map((text, k) => [k + 1, text]))),
    (node) => step.scales.every(([name]) => picked(node, name) !== null),
    (node) => Object.fromEntries(step.scales.map(([name]) => [name, picked(node, name)]))),
  unheard: () => {
    byId("top").hidden = true;
    stage.replaceChildren(el("h1", { tabindex: -1 }, "This test needs headphones"),
      el("p", {}, "Thank you for trying. The softest tone was not found in any of the rounds, so we stop here, before the first conversation: without headphones your answers could not be counted, and your time is worth more than that."),
      el("p", {}, "If you find headphones that work on both sides, please ask whoever invited you for a new link."));
  },
  done: () => goodbye("Thank you", "That was the last one. Every answer has been kept."),
};
const item = (step, heading, questions, ready, answer) => form(step, heading, (heard) => [
  step.practice ? el("p", { class: "quiet" }, "This one is for practice and does not count.") : null,
  el("h2", {}, "What was said"), talk(step.history),
  step.caller ? el("div", { class: "card" }, el("h2", {}, "Hear what the person says"), listener("the person", step.caller, heard)) : null,
  step.replies.map((reply) => el("div", { class: "card" }, el("h2", {}, reply.label),
    reply.sound ? listener(reply.label, reply.sound, heard) : el("p", { class: "said", dir: "auto", tabindex: reply.text.length > 1200 ? 0 : null }, reply.text))),
  step.instruction ? el("p", { class: "note" }, step.instruction) : null, questions],
(step.caller ? 1 : 0) + step.replies.filter((reply) => reply.sound).length, ready, answer);
const goodbye = (title, text) => {
  byId("top").hidden = true;
  stage.replaceChildren(el("h1", { tabindex: -1 }, title), el("p", {}, text),
    el("div", { class: "card" }, el("p", {}, "Some of what you met here was heavy. Do something kind for yourself. If it stays with you, talk to somebody you trust, or to a crisis line in your country."),
      el("p", { class: "quiet" }, "The replies came from machines, and perhaps from some people. None of them was advice, and none shows how to treat a person in distress.")));
  stage.querySelector("h1").focus();
};
const show = (step) => {
  byId("welcome").hidden = true;
  byId("top").hidden = false;
  byId("progress").max = Math.max(step.total, 1);
  byId("progress").value = step.position;
  screens[step.kind](step);
  scrollTo(0, 0);
  stage.querySelector("h1")?.focus({ preventScroll: true });
};
const agree = () => { byId("begin").disabled = !byId("consent").checked; };
byId("consent").addEventListener("change", agree);
agree(); /* It may have been ticked before this script came. */
byId("begin").addEventListener("click", async () => {
  const { ok, data } = await ask("/begin", { consent: true, purpose: "listen" });
  if (!ok) { tell(data.error); return; }
  const due = await ask("/step");
  if (due.ok) show(due.data); else tell(due.data.error);
});
byId("stop").addEventListener("click", async () => {
  if (sounding) sounding.pause();
  const { ok, data } = await ask("/leave", {});
  if (!ok) { tell(data.error); return; }
  goodbye("Stopped", "What you have answered until now is kept. You can come back to this page and go on.");
});
const known = await ask("/step");
if (!known.ok) tell(known.data.error);
else if (known.data.kind !== "welcome") show(known.data);
