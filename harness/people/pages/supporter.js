/* The supporter's seat: the caller is heard in real time, the answer is spoken whenever its speaker feels that it is their turn. */
import { el } from "/asset/el.js";
import { help, t, talk, tell, wait } from "/asset/asking.js";
import { after, fetched, heading, level, own, peak, put, recorded, said, seat } from "/asset/seat.js";

const NEVER_MS = 20000; /* After the caller's end: who has said nothing until then says nothing. */
const LONGEST_MS = 90000;
const TAKE_MS = 175000; /* The server takes three minutes (track.py), the caller's turn and the wait after the press included. */
const LOUD = 0.014; /* Peak of the quietest speech that is usable: −50 dB (faults.py) and a crest of 13 dB. */
const AFTER_MS = 800; /* Recorded after the press, so that a last word is whole. */
const conversation = (step, show, footer) => {
  const start = el("button", { type: "button", class: "main", disabled: true }, t("supporter.hear"));
  let sound = null;
  fetched(step.sound).then((buffer) => { sound = buffer; start.disabled = false; }, (error) => tell(error.message));
  start.addEventListener("click", async () => {
    const finish = el("button", { type: "button", class: "main stay", disabled: true }, t("seat.finished"));
    const state = el("p", { role: "status" }, t("seat.one_moment"));
    put(heading(t("seat.you_are_recorded")), el("div", { class: "card live" }, state, level()), talk(step.history), finish, footer);
    const found = await recorded({ kind: "reply", of: step.of }, async (audio, take) => {
      const playing = audio.play(sound, "caller");
      finish.disabled = false;
      finish.focus({ preventScroll: true });
      state.textContent = t("supporter.listen");
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
      state.textContent = t("seat.one_moment");
      playing.stop();
      await wait(AFTER_MS);
      return typeof how === "string" ? { reason: how } : { reason: "pressed", pressed: how };
    });
    await after(found, show);
  });
  put(heading(t("supporter.conversation", { number: step.number, most: step.most })), el("p", {}, t(step.history.length ? "supporter.said_before" : "supporter.calls_you")), talk(step.history),
    el("p", {}, t("supporter.answer")), el("div", { class: "card" }, level()), start, footer);
};
const review = (step, show, footer, faults) => {
  const mine = el("input", { type: "checkbox" });
  const keep = el("button", { type: "button", class: "main", disabled: true }, t("seat.keep"));
  mine.addEventListener("change", () => { keep.disabled = !mine.checked; });
  keep.addEventListener("click", () => said(`/take/${step.take}/keep`, { no_help: mine.checked }, show));
  put(heading(t("supporter.your_answer")), faults ? el("div", { class: "note" }, el("p", {}, t("supporter.found_in_it")), faults) : null, el("div", { class: "card" }, own(step.take)),
    el("label", { class: "check" }, mine, el("span", {}, t("supporter.attest"))),
    el("div", { class: "pair" }, el("button", { type: "button", onclick: () => said(`/take/${step.take}/discard`, {}, show) }, t("seat.discard")), keep), el("p", { class: "quiet" }, t("supporter.not_back")), footer);
};
seat({ conversation, review }, (code) => t(code === "never" ? "supporter.never_advice" : "supporter.better_discard"), () => help(t("study.after")));
