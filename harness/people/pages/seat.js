/* The steps that both seats share: agreeing, one open page, the loop-back trial, a recording that runs, and what its speaker decides.
   A page that was asleep, or whose headphones were changed, has another latency: it begins anew, with a trial of its own. */
import { el } from "/asset/el.js";
import { ask, byId, stage, tell, wait } from "/asset/asking.js";
import { openEngine } from "/asset/engine.js";
import { noRecording } from "/asset/microphone.js";

const CONSENT = "consent-1";
const METER_MS = 80;
const AGAIN_MS = 1000;
const SOON = { slept: "The computer slept, so this recording has a hole.", unplugged: "The microphone is gone. Plug it in again, then go on.", muted: "The microphone is switched off. Switch it on; the recording goes on.", unmuted: "", silent: "The microphone gives no sound. Check that it is on and plugged in.", clipped: "You are too near to the microphone, or it is set too loud: the sound is clipped.", lost: "A piece of sound was lost. You can go on; the recording says so.", broken: "The browser stopped recording. Please reload the page." };
let engine = null;
let tab = "";
let stale = false;
let loudest = 0;
let running = null; /* (reason) ends the recording that runs. */
let over = false; /* Another tab goes on, or everything was removed: nothing is shown or sent any more. */
const never = () => new Promise(() => {});
/* A phone is named by the browser, or has neither a mouse nor anything that hovers. */
const isPhone = () => navigator.userAgentData?.mobile || matchMedia("(pointer: coarse) and (hover: none)").matches;
const PHONE = "Please open this link on a computer: a phone or tablet changes the microphone's sound in ways that a page cannot turn off.";
const here = "BroadcastChannel" in window ? new BroadcastChannel("seat") : null;
if (here) here.onmessage = ({ data }) => {
  if (!tab || data === tab || over) return;
  put(heading("This goes on in another tab"), el("p", {}, "The page is open in another tab or window, which goes on from here. Please close this one."));
  end();
};
/* Ends this page for good. What runs is sent as far as it came; its speaker decides about it where the sitting goes on. */
const end = () => {
  over = true;
  running = null;
  document.onkeydown = null;
  tell("");
  engine?.close();
  engine = null;
};
const changed = (what, detail) => {
  if (over) return;
  if (what === "connection") { tell(detail ? "" : "The connection is lost. Your recording is kept on this page and sent again."); return; }
  if (what === "refused") { running?.("longest"); tell(detail); return; }
  if (["slept", "devices", "unplugged", "broken"].includes(what)) stale = true;
  if (running && ["slept", "unplugged", "broken"].includes(what)) running(what === "unplugged" ? "unplugged" : "slept");
  if (what in SOON && (running || what !== "lost")) tell(SOON[what]);
};
export const heading = (text) => el("h1", { tabindex: -1 }, text);
export const put = (...children) => {
  if (over) return;
  stage.replaceChildren(...children.flat().filter(Boolean));
  scrollTo(0, 0);
  stage.querySelector("h1")?.focus({ preventScroll: true });
};
export const level = () => {
  const bar = el("meter", { min: 0, max: 1, high: 0.98, value: 0, "aria-label": "How loud the microphone is" });
  const timer = setInterval(() => {
    if (!bar.isConnected && bar.dataset.seen) { clearInterval(timer); return; }
    if (bar.isConnected) bar.dataset.seen = "1";
    /* Loudness as the ear has it: speech at −30 dB is in the middle. */
    if (!engine) return;
    loudest = engine.level().peak;
    if (loudest > 0 && byId("problem").textContent === SOON.silent) tell("");
    bar.value = Math.max(0, Math.min(1, 1 + Math.log10(Math.max(1e-4, loudest)) / 3));
  }, METER_MS);
  return bar;
};
/* The loudest sample of the meter's last look. */
export const peak = () => loudest;
/* A sound of the server, which is asked until it answers. */
export const fetched = async (path) => {
  for (;;) {
    try { const sound = await engine.sound(path); tell(""); return sound; } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      tell("The connection is lost. This page goes on as soon as it is back.");
      await wait(AGAIN_MS);
    }
  }
};
/* Goes on after a recording, or says that there is none. */
export const after = (found, show) => {
  if (found) return said("/next", undefined, show);
  return put(heading("That did not work"), el("button", { type: "button", class: "main", onclick: () => said("/next", undefined, show) }, "Go on"));
};
/* Records one take: `during(api)` runs it and returns how it ended. The findings come back, or null when it cannot be had. */
export const recorded = async (of, during) => {
  let take = null;
  let ended = null;
  const stop = new Promise((done) => { ended = done; });
  try {
    take = await engine.record({ ...of, tab });
    running = (reason) => ended({ reason });
    const how = await Promise.race([during(engine, take), stop]);
    if (over) return never();
    running = null;
    return (await take.end(how)).found;
  } catch (error) {
    if (over) return never();
    running = null;
    tell(error.message);
    return null;
  }
};
export const said = async (path, body, show) => {
  const { ok, data } = await ask(path, body);
  if (over) return ok;
  if (ok) { tell(""); await show(data); } else tell(data.error);
  return ok;
};
/* The faults with their remedies, and the seat's own sentence about a recording that they spoil. */
const faults = (found, advice) => (found.faults?.length ? [el("ul", { class: "faults" }, found.faults.map((fault) => el("li", {}, [fault.words, fault.do].filter(Boolean).join(" ")))),
  found.faults[0].again ? el("p", {}, advice(found.faults[0].code)) : null] : null);
export const own = (take) => {
  const player = el("audio", { controls: true, "aria-label": "Your recording" });
  fetch(`/take/${take}/sound`).then((reply) => (reply.ok ? reply.blob() : null)).then((blob) => { if (blob) player.src = URL.createObjectURL(blob); }).catch(() => tell("Your recording could not be fetched to be heard. Please reload the page."));
  return player;
};
const footer = (step) => {
  const button = el("button", { type: "button", class: "link" }, "Remove everything");
  button.addEventListener("click", async () => {
    if (!button.dataset.sure) { button.dataset.sure = "1"; button.textContent = "Press again to remove all your recordings for good"; return; }
    button.disabled = true;
    const { ok, data } = await ask("/withdraw", {});
    button.disabled = false;
    if (!ok) { tell(data.error); return; }
    put(heading("Everything is removed"), el("p", {}, data.rest_later ? "All your recordings are gone. The server is busy with things that were made of them: those go as soon as it is free." : "All your recordings are gone, and what was made of them on this server."),
      el("p", {}, "Copies that were made or sent before are out of reach; whoever invited you knows of them. Thank you for your time."));
    end();
  });
  return el("footer", { class: "quiet" }, el("p", {}, `You are ${step.name} here${step.automatic ? ", a program or a rehearsal: nothing counts as a person's" : ""}. Kept until now: ${step.kept}.`), button);
};
const trial = (step, show) => {
  const button = el("button", { type: "button", class: "main" }, "Measure");
  const without = el("button", { type: "button", class: "link" }, "Go on without measuring");
  const state = el("p", { role: "status" });
  without.addEventListener("click", () => said("/loop-back/without", { tab }, show));
  button.addEventListener("click", async () => {
    button.disabled = true;
    state.textContent = "Measuring: twelve short chirps …";
    const found = await recorded({ kind: "calibration", of: "" }, async (audio) => {
      const sound = await fetched(step.sound);
      await audio.play(sound, "loop-back").ended;
      await wait(300);
      return { reason: "pressed" };
    });
    button.disabled = false;
    button.textContent = "Measure again";
    button.focus({ preventScroll: true }); /* A button that is disabled loses it. */
    if (!found) { state.textContent = ""; return; }
    if (!found.heard && found.lost_ms > 0) { state.textContent = "Pieces of sound were lost, so nothing could be measured: the computer is busy. Close other programs, and measure again."; return; }
    if (!found.heard) { state.textContent = "The microphone did not hear the chirps. Turn the headphones up, hold one side close to the microphone, and measure again."; return; }
    state.textContent = `Measured to within ${Math.max(1, Math.ceil(found.error_ms))} ms.${found.fit ? "" : " That is not exact enough, and your answers will say so; measure again in a quieter moment, or with wired headphones."}`;
    const next = el("button", { type: "button", class: "main", onclick: () => said("/next", undefined, show) }, "Put the headphones on and go on");
    without.replaceWith(next);
    next.focus({ preventScroll: true });
  });
  put(heading("Hold your headphones to the microphone"), el("p", {}, "This measures how late the sound of your computer is. Hold one side of your headphones close to the microphone, at the volume at which you will listen, and press Measure. It takes ten seconds."),
    el("div", { class: "card" }, level()), engine.processing.length ? el("p", { class: "note" }, `Your browser or computer still changes the microphone's sound (${engine.processing.join(", ")}). Please switch that off in the sound settings.`) : null, button, state, without, footer(step));
};
const interrupted = (step, show) => put(heading("A recording was interrupted"),
  el("p", {}, step.seconds > 0 ? `The page was closed, or the computer slept, ${step.seconds} seconds into a recording. You can keep what there is, if it is whole enough, or discard it.` : "The page was closed before anything was recorded."),
  step.seconds > 0 ? own(step.take) : null,
  el("div", { class: "pair" }, el("button", { type: "button", onclick: () => said(`/take/${step.take}/discard`, {}, show) }, "Discard it"),
    el("button", { type: "button", disabled: step.seconds <= 0, onclick: () => said(`/take/${step.take}/keep`, {}, show) }, "Look at it")), footer(step));
const done = (step) => {
  engine?.close();
  engine = null;
  put(heading("Thank you"), el("p", {}, `You have given ${step.kept} ${step.kept === 1 ? "recording" : "recordings"}. There is nothing more to do now.`), el("p", {}, "If some of this stays with you, do something kind for yourself, and talk to somebody you trust."), footer(step));
};
/* `steps`: kind → (step, show, footer, faults) of one seat. `advice`: a fault's code → the sentence about a recording that it spoils. */
export const seat = (steps, advice) => {
  const show = async (step) => {
    byId("welcome").hidden = true;
    if (stale && !["done", "review"].includes(step.kind)) {
      put(heading("One moment"), el("p", {}, "The computer slept, or headphones or microphone were changed, so this page begins anew. Nothing that you kept is lost."), el("button", { type: "button", class: "main", onclick: begin }, "Go on"));
      return;
    }
    const shared = { loop_back: trial, interrupted, done };
    await (shared[step.kind] ?? steps[step.kind])(step, show, footer(step), step.found ? faults(step.found, advice) : null);
  };
  const button = byId("begin");
  let opening = false;
  const begin = async () => {
    if (opening) return;
    opening = true;
    button.disabled = true;
    try {
      await engine?.close();
      engine = await openEngine({ onChange: changed, button: "Begin" });
      stale = false;
      tab = crypto.randomUUID();
      here?.postMessage(tab);
      tell("");
      await said("/begin", { consent: CONSENT, adult: true, automatic: navigator.webdriver === true, tab }, show);
    } catch (error) { engine = null; tell(error.message); }
    button.disabled = false;
    opening = false;
  };
  const cannot = noRecording(window.AudioContext && window.AudioWorkletNode) ?? (isPhone() ? PHONE : null);
  tell(cannot);
  const agree = () => { button.disabled = Boolean(cannot) || !(byId("consent").checked && byId("adult").checked); };
  byId("consent").addEventListener("change", agree);
  byId("adult").addEventListener("change", agree);
  agree(); /* They may have been ticked before this script came. */
  button.addEventListener("click", begin);
};
