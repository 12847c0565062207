/* A contributor hears a conversation and speaks or types a reply. A recording is turned into plain PCM here, in the browser. */
import { el } from "/asset/el.js";
import { aboutYou, ask, byId, draft, ending, help, stage, t, talk, tell } from "/asset/asking.js";
import { noMicrophone, noRecording } from "/asset/microphone.js";

const RATE_HZ = 24000;
const LONGEST_MS = 60000;
const wav = (samples) => {
  const bytes = new DataView(new ArrayBuffer(44 + 2 * samples.length));
  const text = (at, letters) => [...letters].forEach((letter, k) => bytes.setUint8(at + k, letter.charCodeAt(0)));
  text(0, "RIFF"); bytes.setUint32(4, 36 + 2 * samples.length, true); text(8, "WAVEfmt ");
  bytes.setUint32(16, 16, true); bytes.setUint16(20, 1, true); bytes.setUint16(22, 1, true); bytes.setUint32(24, RATE_HZ, true);
  bytes.setUint32(28, 2 * RATE_HZ, true); bytes.setUint16(32, 2, true); bytes.setUint16(34, 16, true); text(36, "data"); bytes.setUint32(40, 2 * samples.length, true);
  samples.forEach((value, k) => bytes.setInt16(44 + 2 * k, Math.max(-1, Math.min(1, value)) * 32767, true));
  return new Uint8Array(bytes.buffer);
};
const base64 = (bytes) => { let out = ""; for (let k = 0; k < bytes.length; k += 32768) out += String.fromCharCode(...bytes.subarray(k, k + 32768)); return btoa(out); };
const decoded = async (blob) => {
  const context = new OfflineAudioContext(1, 1, RATE_HZ);
  const sound = await context.decodeAudioData(await blob.arrayBuffer());
  return wav(sound.getChannelData(0));
};
const WRITE = t("collect.write_instead");
const NO_RECORDING = noRecording(window.MediaRecorder, WRITE);
const recorder = (onChange) => {
  if (NO_RECORDING) return { node: el("p", { class: "note" }, NO_RECORDING), audio: () => null };
  const state = el("span", { class: "state", role: "status" }, t("collect.nothing_recorded"));
  const again = el("audio", { controls: true, hidden: true, "aria-label": t("collect.your_recording") });
  const button = el("button", { type: "button" }, t("collect.record"));
  let running = null;
  let kept = null;
  button.addEventListener("click", async () => {
    if (running) { running.stop(); return; }
    try {
      const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      const parts = [];
      running = new MediaRecorder(stream);
      const stop = setTimeout(() => running?.stop(), LONGEST_MS);
      running.ondataavailable = (event) => parts.push(event.data);
      running.onstop = async () => {
        clearTimeout(stop);
        stream.getTracks().forEach((track) => track.stop());
        running = null;
        try { kept = await decoded(new Blob(parts)); } catch {
          button.textContent = t(kept ? "collect.record_again" : "collect.record");
          state.textContent = t(kept ? "collect.recorded" : "collect.nothing_recorded");
          tell(`${t("collect.refused.unreadable")} ${WRITE}`);
          return;
        }
        tell("");
        again.src = URL.createObjectURL(new Blob([kept], { type: "audio/wav" }));
        again.hidden = false;
        button.textContent = t("collect.record_again");
        state.textContent = t("collect.recorded");
        onChange();
      };
      running.start();
      button.textContent = t("collect.stop_recording");
      state.textContent = t("collect.recording");
    } catch (error) { running = null; tell(noMicrophone(error, t("collect.record"), WRITE)); }
  });
  return { node: el("div", { class: "hear own" }, button, state, again), audio: () => (kept ? base64(kept) : null) };
};
const show = (due) => {
  byId("welcome").hidden = true;
  if (due.kind === "about") { aboutYou(due.questions, next); return; }
  if (due.kind === "done") {
    stage.replaceChildren(el("h1", {}, t("shared.thanks")), el("p", {}, t("collect.done", { n: due.given })), ...ending(due).filter(Boolean), el("div", { class: "card" }, help(t("study.after"))));
    return;
  }
  const button = el("button", { type: "submit", class: "main", disabled: true }, t("collect.send"));
  const player = due.sound ? el("audio", { controls: true, src: null, "aria-label": t("collect.what_they_say") }) : null;
  if (player) fetch(due.sound).then((reply) => reply.blob()).then((blob) => { player.src = URL.createObjectURL(blob); });
  const kept = draft(due.draft);
  const words = el("textarea", { id: "words", name: "text", maxlength: 2000 });
  words.value = kept.kept().text ?? "";
  words.addEventListener("input", () => kept.keep({ text: words.value }));
  const own = el("input", { type: "checkbox", name: "own" });
  const check = () => { button.disabled = !(own.checked && (spoken.audio() || words.value.trim())); };
  const spoken = recorder(check);
  stage.replaceChildren(el("form", { oninput: check, onsubmit: async (event) => {
    event.preventDefault();
    button.disabled = true;
    const { ok, data } = await ask("/collect/reply", { context: due.context, text: words.value, audio: spoken.audio(), no_help: own.checked });
    tell(ok ? "" : data.error);
    if (ok) { kept.sent(); show(data); } else button.disabled = false;
  } },
  el("h1", { tabindex: -1 }, t("collect.title")),
  talk(due.history),
  player ? el("div", { class: "card" }, el("h2", {}, t("listen.hear_the_person")), player) : null,
  el("div", { class: "card" }, el("h2", {}, t("collect.say_it")), spoken.node),
  el("div", { class: "card" }, el("h2", {}, el("label", { for: "words" }, t("collect.write_it"))), words),
  el("label", { class: "check" }, own, el("span", {}, t("collect.attest"))), button,
  el("p", { class: "quiet" }, t("collect.given", due))));
  scrollTo(0, 0);
  stage.querySelector("h1").focus({ preventScroll: true });
};
const next = async () => {
  const due = await ask("/collect/next");
  if (due.ok) show(due.data); else tell(due.data.error);
};
const agree = () => { byId("begin").disabled = !byId("consent").checked; };
byId("consent").addEventListener("change", agree);
agree(); /* It may have been ticked before this script came. */
byId("begin").addEventListener("click", async () => {
  const begun = await ask("/begin", { consent: true, purpose: "collect" });
  if (begun.ok) next(); else tell(begun.data.error);
});
