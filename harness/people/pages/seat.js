/* The steps that both seats share: agreeing, one open page, the loop-back trial, a recording that runs, and what its speaker decides.
   A page that was asleep, or whose headphones were changed, has another latency: it begins anew, with a trial of its own. */
import { el } from "/asset/el.js";
import { aboutYou, ask, byId, ending, stage, t, tell, wait } from "/asset/asking.js";
import { openEngine } from "/asset/engine.js";
import { noRecording } from "/asset/microphone.js";

const CONSENT = "consent-1";
const METER_MS = 80;
const AGAIN_MS = 1000;
const SOON = { slept: t("seat.soon.slept"), unplugged: t("seat.soon.unplugged"), muted: t("seat.soon.muted"), unmuted: "", silent: t("seat.soon.silent"), clipped: t("seat.soon.clipped"), lost: t("seat.soon.lost"), broken: t("seat.soon.broken") };
let engine = null;
let tab = "";
let stale = false;
let loudest = 0;
let running = null; /* (reason) ends the recording that runs. */
let over = false; /* Another tab goes on, or everything was removed: nothing is shown or sent any more. */
const never = () => new Promise(() => {});
/* A phone is named by the browser, or has neither a mouse nor anything that hovers. */
const isPhone = () => navigator.userAgentData?.mobile || matchMedia("(pointer: coarse) and (hover: none)").matches;
const here = "BroadcastChannel" in window ? new BroadcastChannel("seat") : null;
if (here) here.onmessage = ({ data }) => {
  if (!tab || data === tab || over) return;
  put(heading(t("seat.other_tab_title")), el("p", {}, t("seat.other_tab")));
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
  if (what === "connection") { tell(detail ? "" : t("seat.lost")); return; }
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
  const bar = el("meter", { min: 0, max: 1, high: 0.98, value: 0, "aria-label": t("seat.how_loud") });
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
      tell(t("seat.lost_waiting"));
      await wait(AGAIN_MS);
    }
  }
};
/* Goes on after a recording, or says that there is none. */
export const after = (found, show) => {
  if (found) return said("/next", undefined, show);
  return put(heading(t("seat.did_not_work")), el("button", { type: "button", class: "main", onclick: () => said("/next", undefined, show) }, t("shared.go_on")));
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
  const player = el("audio", { controls: true, "aria-label": t("seat.your_recording") });
  fetch(`/take/${take}/sound`).then((reply) => (reply.ok ? reply.blob() : null)).then((blob) => { if (blob) player.src = URL.createObjectURL(blob); }).catch(() => tell(t("seat.not_fetched")));
  return player;
};
const footer = (step) => {
  const button = el("button", { type: "button", class: "link" }, t("seat.remove"));
  button.addEventListener("click", async () => {
    if (!button.dataset.sure) { button.dataset.sure = "1"; button.textContent = t("seat.remove_sure"); return; }
    button.disabled = true;
    const { ok, data } = await ask("/withdraw", {});
    button.disabled = false;
    if (!ok) { tell(data.error); return; }
    put(heading(t("seat.removed_title")), el("p", {}, t(data.rest_later ? "seat.removed_later" : "seat.removed")),
      el("p", {}, t("seat.removed_copies")));
    end();
  });
  return el("footer", { class: "quiet" }, el("p", {}, `${t(step.automatic ? "seat.you_are_automatic" : "seat.you_are", { name: step.name })} ${t("seat.kept_until_now", { number: step.kept })}`), button);
};
const trial = (step, show) => {
  const button = el("button", { type: "button", class: "main" }, t("seat.measure"));
  const without = el("button", { type: "button", class: "link" }, t("seat.measure_without"));
  const state = el("p", { role: "status" });
  without.addEventListener("click", () => said("/loop-back/without", { tab }, show));
  button.addEventListener("click", async () => {
    button.disabled = true;
    state.textContent = t("seat.measuring");
    const found = await recorded({ kind: "calibration", of: "" }, async (audio) => {
      const sound = await fetched(step.sound);
      await audio.play(sound, "loop-back").ended;
      await wait(300);
      return { reason: "pressed" };
    });
    button.disabled = false;
    button.textContent = t("seat.measure_again");
    button.focus({ preventScroll: true }); /* A button that is disabled loses it. */
    if (!found) { state.textContent = ""; return; }
    if (!found.heard && found.lost_ms > 0) { state.textContent = t("seat.measure_busy"); return; }
    if (!found.heard) { state.textContent = t("seat.measure_unheard"); return; }
    state.textContent = `${t("seat.measured", { ms: Math.max(1, Math.ceil(found.error_ms)) })}${found.fit ? "" : ` ${t("seat.measured_unfit")}`}`;
    const next = el("button", { type: "button", class: "main", onclick: () => said("/next", undefined, show) }, t("seat.headphones_on"));
    without.replaceWith(next);
    next.focus({ preventScroll: true });
  });
  put(heading(t("seat.measure_title")), el("p", {}, t("seat.measure_how")),
    el("div", { class: "card" }, level()), engine.processing.length ? el("p", { class: "note" }, t("seat.changes_sound", { how: engine.processing.join(", ") })) : null, button, state, without, footer(step));
};
const interrupted = (step, show) => put(heading(t("seat.interrupted_title")),
  el("p", {}, step.seconds > 0 ? t("seat.interrupted", { seconds: step.seconds }) : t("seat.interrupted_empty")),
  step.seconds > 0 ? own(step.take) : null,
  el("div", { class: "pair" }, el("button", { type: "button", onclick: () => said(`/take/${step.take}/discard`, {}, show) }, t("seat.discard")),
    el("button", { type: "button", disabled: step.seconds <= 0, onclick: () => said(`/take/${step.take}/keep`, {}, show) }, t("seat.look"))), footer(step));
const done = (step, _, __, ___, after) => {
  engine?.close();
  engine = null;
  put(heading(t("shared.thanks")), el("p", {}, t("seat.done", { n: step.kept })), ending({ ...step, name: "" }), after(), footer(step));
};
const about = (step, show) => aboutYou(step.questions, () => said("/next", undefined, show));
/* `steps`: kind → (step, show, footer, faults) of one seat. `advice`: a fault's code → the sentence about a recording that it spoils.
   `after`: what the last page adds. */
export const seat = (steps, advice, after = () => []) => {
  const show = async (step) => {
    byId("welcome").hidden = true;
    if (stale && !["done", "review", "about"].includes(step.kind)) {
      put(heading(t("seat.begins_anew_title")), el("p", {}, t("seat.begins_anew")), el("button", { type: "button", class: "main", onclick: begin }, t("shared.go_on")));
      return;
    }
    const shared = { about, loop_back: trial, interrupted, done };
    await (shared[step.kind] ?? steps[step.kind])(step, show, footer(step), step.found ? faults(step.found, advice) : null, after);
  };
  const button = byId("begin");
  let opening = false;
  const begin = async () => {
    if (opening) return;
    opening = true;
    button.disabled = true;
    try {
      await engine?.close();
      engine = await openEngine({ onChange: changed, button: t("shared.begin") });
      stale = false;
      tab = crypto.randomUUID();
      here?.postMessage(tab);
      tell("");
      await said("/begin", { consent: CONSENT, adult: true, automatic: navigator.webdriver === true, tab }, show);
    } catch (error) { engine = null; tell(error.message); }
    button.disabled = false;
    opening = false;
  };
  const cannot = noRecording(window.AudioContext && window.AudioWorkletNode) ?? (isPhone() ? t("seat.phone") : null);
  tell(cannot);
  const agree = () => { button.disabled = Boolean(cannot) || !(byId("consent").checked && byId("adult").checked); };
  byId("consent").addEventListener("change", agree);
  byId("adult").addEventListener("change", agree);
  agree(); /* They may have been ticked before this script came. */
  button.addEventListener("click", begin);
};
