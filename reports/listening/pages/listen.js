/* One rater's session. The server says what is due; this page plays it, asks, and sends the answer until it is taken. */
import { el } from "/asset/el.js";
import { aboutYou, ask, byId, draft, ending, help, stage, t, talk, tell, wait } from "/asset/asking.js";

let sounding = null;
/* A sound counts as heard when it has played to its end; it can be heard again, but not skipped through. */
const listener = (label, address, onHeard) => {
  const bar = el("progress", { max: 1, value: 0, "aria-label": t("shared.played", { name: label }) });
  const state = el("span", { class: "state" }, t("shared.not_heard_yet"));
  const button = el("button", { type: "button", disabled: true, "aria-label": t("shared.play_it", { name: label }) }, t("shared.play"));
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
    tell(t("listen.sound_not_loaded"));
  };
  audio.addEventListener("timeupdate", () => { if (audio.duration && !audio.paused) bar.value = audio.currentTime / audio.duration; });
  audio.addEventListener("ended", () => { bar.value = 1; button.textContent = t("shared.again"); state.textContent = t("shared.heard"); if (!heard) { heard = true; onHeard(); } });
  audio.addEventListener("play", () => { if (sounding && sounding !== audio) { sounding.pause(); sounding.currentTime = 0; } sounding = audio; state.textContent = t("shared.sounding"); button.textContent = t("shared.playing"); });
  audio.addEventListener("pause", () => { if (!audio.ended) { bar.value = heard ? 1 : 0; state.textContent = t(heard ? "shared.heard" : "shared.not_heard_yet"); button.textContent = t(heard ? "shared.again" : "shared.play"); } });
  button.addEventListener("click", () => { if (!audio.paused) return; audio.currentTime = 0; audio.play().catch(() => tell(t("listen.sound_not_allowed"))); });
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
  const button = el("button", { type: "submit", class: "main", disabled: true }, t("shared.next"));
  const hint = el("p", { class: "quiet" });
  const check = () => { const open = left <= 0 && ready(node); button.disabled = !open; hint.textContent = left > 0 ? t("listen.still_to_hear", { number: left }) : ""; };
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
  level: (step) => form(step, t("listen.volume_title"), (heard) => [el("p", {}, t("listen.volume")),
    el("div", { class: "card" }, listener(t("listen.the_noise"), step.sounds[0], heard))], 1, () => true, () => ({})),
  headphones: (step) => form(step, t("listen.softest_title"), (heard) => [step.instruction ? el("p", { class: "note", role: "alert" }, step.instruction) : null,
    el("p", {}, t("listen.softest")),
    el("div", { class: "card" }, listener(t("listen.the_tones"), step.sounds[0], heard)), options("tone", t("listen.softest_was"), t("listen.tones").map((text, k) => [k + 1, text]))],
  1, (node) => picked(node, "tone") !== null, (node) => ({ tone: picked(node, "tone") })),
  break: (step) => form(step, t("listen.break_title"), () => [el("p", {}, t("listen.break"))], 0, () => true, () => ({})),
  pair: (step) => item(step, t(step.practice ? "listen.practice_pair" : "shared.which_is_better"), [
    options("choice", t("shared.for_this_person"), step.choices),
    el("fieldset", {}, el("legend", {}, el("label", { for: "reason" }, t("listen.why"))), el("textarea", { id: "reason", name: "reason", maxlength: 20000, required: true }))],
  (node) => picked(node, "choice") !== null && node.elements.reason.value.trim().length >= step.reason_characters,
  (node) => ({ choice: picked(node, "choice"), reason: node.elements.reason.value })),
  rating: (step) => item(step, t(step.practice ? "listen.practice_rating" : "listen.how_good"),
    step.scales.map(([name, question, labels]) => options(name, question, labels.map((text, k) => [k + 1, text]))),
    (node) => step.scales.every(([name]) => picked(node, name) !== null),
    (node) => Object.fromEntries(step.scales.map(([name]) => [name, picked(node, name)]))),
  unheard: () => {
    byId("top").hidden = true;
    stage.replaceChildren(el("h1", { tabindex: -1 }, t("listen.unheard_title")), el("p", {}, t("listen.unheard")), el("p", {}, t("listen.unheard_next")));
  },
  about: (step) => aboutYou(step.questions, next),
  done: (step) => goodbye(t("shared.thanks"), t("listen.done"), step),
};
const item = (step, heading, questions, ready, answer) => form(step, heading, (heard) => [
  step.practice ? el("p", { class: "quiet" }, t("listen.practice_note")) : null,
  el("h2", {}, t("shared.what_was_said")), talk(step.history),
  step.caller ? el("div", { class: "card" }, el("h2", {}, t("listen.hear_the_person")), listener(t("shared.the_person"), step.caller, heard)) : null,
  step.replies.map((reply) => el("div", { class: "card" }, el("h2", {}, reply.label),
    reply.sound ? listener(reply.label, reply.sound, heard) : el("p", { class: "said", dir: "auto", tabindex: reply.text.length > 1200 ? 0 : null }, reply.text))),
  questions],
(step.caller ? 1 : 0) + step.replies.filter((reply) => reply.sound).length, ready, answer);
const goodbye = (title, text, end) => {
  byId("top").hidden = true;
  stage.replaceChildren(el("h1", { tabindex: -1 }, title), el("p", {}, text), ...ending(end).filter(Boolean),
    el("div", { class: "card" }, help(t("study.after")), el("p", { class: "quiet" }, t("listen.after_note"))));
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
const next = async () => {
  const due = await ask("/step");
  if (due.ok) show(due.data); else tell(due.data.error);
};
const agree = () => { byId("begin").disabled = !byId("consent").checked; };
byId("consent").addEventListener("change", agree);
agree(); /* It may have been ticked before this script came. */
byId("begin").addEventListener("click", async () => {
  const { ok, data } = await ask("/begin", { consent: true, purpose: "listen" });
  if (!ok) { tell(data.error); return; }
  next();
});
byId("stop").addEventListener("click", async () => {
  if (sounding) sounding.pause();
  const { ok, data } = await ask("/leave", {});
  if (!ok) { tell(data.error); return; }
  goodbye(t("listen.stopped_title"), t("listen.stopped"), data);
});
const known = await ask("/step");
if (!known.ok) tell(known.data.error);
else if (known.data.kind !== "welcome") show(known.data);
