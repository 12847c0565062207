/* A contributor hears a conversation and speaks or types a reply. A recording is turned into plain PCM here, in the browser. */
import { el } from "/asset/el.js";
import { ask, byId, draft, stage, talk, tell } from "/asset/asking.js";
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
const WRITE = "You can write your reply instead.";
const NO_RECORDING = noRecording(window.MediaRecorder, WRITE);
const recorder = (onChange) => {
  if (NO_RECORDING) return { node: el("p", { class: "note" }, NO_RECORDING), audio: () => null };
  const state = el("span", { class: "state", role: "status" }, "nothing recorded");
  const again = el("audio", { controls: true, hidden: true, "aria-label": "Your recording" });
  const button = el("button", { type: "button" }, "Record");
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
          button.textContent = kept ? "Record again" : "Record";
          state.textContent = kept ? "recorded" : "nothing recorded";
          tell(`The recording could not be read. Please record again. ${WRITE}`);
          return;
        }
        tell("");
        again.src = URL.createObjectURL(new Blob([kept], { type: "audio/wav" }));
        again.hidden = false;
        button.textContent = "Record again";
        state.textContent = "recorded";
        onChange();
      };
      running.start();
      button.textContent = "Stop recording";
      state.textContent = "recording; speak now";
    } catch (error) { running = null; tell(noMicrophone(error, "Record", WRITE)); }
  });
  return { node: el("div", { class: "hear own" }, button, state, again), audio: () => (kept ? base64(kept) : null) };
};
const show = (due) => {
  byId("welcome").hidden = true;
  if (due.kind === "done") {
    stage.replaceChildren(el("h1", {}, "Thank you"), el("p", {}, `You have given ${due.given} ${due.given === 1 ? "reply" : "replies"}. There is nothing more to answer now.`),
      el("p", {}, "Some of this was heavy. Do something kind for yourself, and talk to somebody you trust if it stays with you."));
    return;
  }
  const button = el("button", { type: "submit", class: "main", disabled: true }, "Send");
  const player = due.sound ? el("audio", { controls: true, src: null, "aria-label": "What the person says" }) : null;
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
  el("h1", { tabindex: -1 }, "What would you say?"),
  talk(due.history),
  player ? el("div", { class: "card" }, el("h2", {}, "Hear what the person says"), player) : null,
  el("div", { class: "card" }, el("h2", {}, "Say it"), spoken.node),
  el("div", { class: "card" }, el("h2", {}, el("label", { for: "words" }, "or write it, in one to three sentences")), words),
  el("label", { class: "check" }, own, el("span", {}, "These words are my own. No program helped me to find or write them.")), button,
  el("p", { class: "quiet" }, `You have given ${due.given}. Together we have ${due.covered} of ${due.wanted}.`)));
  scrollTo(0, 0);
  stage.querySelector("h1").focus({ preventScroll: true });
};
const agree = () => { byId("begin").disabled = !byId("consent").checked; };
byId("consent").addEventListener("change", agree);
agree(); /* It may have been ticked before this script came. */
byId("begin").addEventListener("click", async () => {
  const begun = await ask("/begin", { consent: true, purpose: "collect" });
  const due = begun.ok ? await ask("/collect/next") : begun;
  if (due.ok) show(due.data); else tell(due.data.error);
});
