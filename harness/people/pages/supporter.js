/* The supporter's seat: the caller is heard in real time, the answer is spoken whenever its speaker feels that it is their turn. */
import { el } from "/asset/el.js";
import { talk, tell, wait } from "/asset/asking.js";
import { after, fetched, heading, level, own, peak, put, recorded, said, seat } from "/asset/seat.js";

const NEVER_MS = 20000; /* After the caller's end: who has said nothing until then says nothing. */
const LONGEST_MS = 90000;
const TAKE_MS = 175000; /* The server takes three minutes (track.py), the caller's turn and the wait after the press included. */
const LOUD = 0.014; /* Peak of the quietest speech that is usable: −50 dB (faults.py) and a crest of 13 dB. */
const AFTER_MS = 800; /* Recorded after the press, so that a last word is whole. */
const conversation = (step, show, footer) => {
  const start = el("button", { type: "button", class: "main", disabled: true }, "Hear the person");
  let sound = null;
  fetched(step.sound).then((buffer) => { sound = buffer; start.disabled = false; }, (error) => tell(error.message));
  start.addEventListener("click", async () => {
    const finish = el("button", { type: "button", class: "main stay", disabled: true }, "I have finished");
    const state = el("p", { role: "status" }, "One moment …");
    put(heading("You are recorded"), el("div", { class: "card live" }, state, level()), talk(step.history), finish, footer);
    const found = await recorded({ kind: "reply", of: step.of }, async (audio, take) => {
      const playing = audio.play(sound, "caller");
      finish.disabled = false;
      finish.focus({ preventScroll: true });
      state.textContent = "Listen, and answer aloud as soon as you feel that it is your turn.";
      fetch(`/take/${take.id}/played`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ played: take.played }) }).catch(() => {});
      const pressed = new Promise((done) => { finish.onclick = () => done(audio.frame()); });
      const silent = (async () => {
        await playing.ended;
        const since = Date.now();
        let spoken = false;
        while (Date.now() - since < Math.min(LONGEST_MS, TAKE_MS - sound.duration * 1000)) {
          spoken ||= peak() > LOUD;
          if (!spoken && Date.now() - since > NEVER_MS) return "never";
          await wait(100);
        }
        return "longest";
      })();
      const how = await Promise.race([pressed, silent]);
      finish.disabled = true;
      state.textContent = "One moment …";
      playing.stop();
      await wait(AFTER_MS);
      return typeof how === "string" ? { reason: how } : { reason: "pressed", pressed: how };
    });
    await after(found, show);
  });
  put(heading(`Conversation ${step.number} of ${step.most}`), step.history.length ? el("p", {}, "This was said before. Read it, then hear the person go on.") : el("p", {}, "The person calls you. Hear them."), talk(step.history),
    el("p", {}, "Answer aloud, in one to three sentences, as soon as you feel that it is your turn. You hear the person once."), el("div", { class: "card" }, level()), start, footer);
};
const review = (step, show, footer, faults) => {
  const mine = el("input", { type: "checkbox" });
  const keep = el("button", { type: "button", class: "main", disabled: true }, "Keep it");
  mine.addEventListener("change", () => { keep.disabled = !mine.checked; });
  keep.addEventListener("click", () => said(`/take/${step.take}/keep`, { no_help: mine.checked }, show));
  put(heading("Your answer"), faults ? el("div", { class: "note" }, el("p", {}, "The page found in it:"), faults) : null, el("div", { class: "card" }, own(step.take)),
    el("label", { class: "check" }, mine, el("span", {}, "These words are my own. No program helped me to find them.")),
    el("div", { class: "pair" }, el("button", { type: "button", onclick: () => said(`/take/${step.take}/discard`, {}, show) }, "Discard it"), keep), el("p", { class: "quiet" }, "A conversation that you heard does not come back."), footer);
};
seat({ conversation, review }, (code) => (code === "never" ? "If silence is your answer, keep it; else better discard it." : "Better discard it: nothing true can be measured of it."));
