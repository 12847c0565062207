/* The caller's seat: something told in one's own words, and where it paused and ended, by an analyser and its speaker together. */
import { el } from "/asset/el.js";
import { t, wait } from "/asset/asking.js";
import { after, heading, level, own, put, recorded, said, seat } from "/asset/seat.js";

const LONGEST_MS = 120000;
const AFTER_MS = 1500; /* Recorded after the press: an end is known only if silence follows it, and whoever goes on is heard. */
const svg = (tag, attributes, ...children) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
};
const prompt = (step, show, footer) => {
  const chosen = () => document.querySelector("input[name=topic]:checked")?.value ?? null;
  const start = el("button", { type: "button", class: "main", disabled: !step.retell }, t("caller.record"));
  const topics = el("fieldset", {}, el("legend", {}, t(step.retell ? "caller.or_own" : "caller.own")),
    el("div", { class: "options", onchange: () => { start.disabled = false; } }, step.topics.map(({ id, words }) => el("label", {}, el("input", { type: "radio", name: "topic", value: id }), el("span", {}, words)))));
  start.addEventListener("click", async () => {
    const topic = chosen();
    const finish = el("button", { type: "button", class: "main stay", disabled: true }, t("seat.finished_space"));
    const state = el("p", { role: "status" }, t("seat.one_moment"));
    put(heading(t("seat.you_are_recorded")), el("div", { class: "card live" }, state, level()), topic ? el("p", { class: "prompt quiet" }, step.topics.find(({ id }) => id === topic).words) : el("details", {}, el("summary", {}, t("caller.read_again")), el("p", { class: "prompt quiet" }, step.retell)), finish, footer);
    const found = await recorded({ kind: "turn", of: step.of, topic }, async (audio) => {
      finish.disabled = false;
      finish.focus({ preventScroll: true });
      state.textContent = t("caller.tell_it_now");
      const pressed = new Promise((done) => {
        finish.onclick = () => done(audio.frame());
        document.onkeydown = (event) => { if (event.code === "Space" && !event.target.closest("button, a, audio, summary, input")) { event.preventDefault(); done(audio.frame()); } };
      });
      const how = await Promise.race([pressed, wait(LONGEST_MS)]);
      document.onkeydown = null;
      finish.disabled = true;
      state.textContent = t("seat.one_moment");
      await wait(AFTER_MS);
      return how === undefined ? { reason: "longest" } : { reason: "pressed", pressed: how };
    });
    await after(found, show);
  });
  const instead = step.retell ? el("details", {}, el("summary", {}, t("caller.rather_not")), topics) : topics;
  /* Closed again means the lines after all. */
  instead.addEventListener("toggle", () => { if (!instead.open) topics.querySelectorAll("input").forEach((box) => { box.checked = false; }); });
  put(heading(t("caller.place", { number: step.number, most: step.most })), step.retell ? [el("p", {}, t("caller.imagine")), el("p", { class: "prompt card" }, step.retell), el("p", { class: "quiet" }, t("caller.put_away"))] : null, instead,
    el("div", { class: "card" }, level()), start, footer);
};
const seconds = (s) => t("caller.seconds", { s: s.toFixed(1) });
/* The sound's loudness over time, with the pauses and the edges of the turn. */
const wave = (found) => {
  const x = (s) => (100 * s) / found.lasts_s;
  const bars = found.wave.map((v, k) => svg("rect", { class: "sound", x: (100 * k) / found.wave.length, width: 100 / found.wave.length, y: 50 - 48 * v, height: Math.max(0.5, 96 * v) }));
  const pauses = found.pauses.map(([a, b]) => svg("rect", { class: "pause", x: x(a), width: x(b) - x(a), y: 0, height: 100 }));
  const edge = (s) => svg("line", { class: "edge", x1: x(s), x2: x(s), y1: 0, y2: 100 });
  const end = edge(found.end_s);
  return { node: svg("svg", { class: "wave", viewBox: "0 0 100 100", preserveAspectRatio: "none", role: "img", "aria-label": t("caller.wave", { n: found.pauses.length, lasts: seconds(found.lasts_s) }) }, ...pauses, ...bars, edge(found.start_s), end), moveEnd: (s) => { end.setAttribute("x1", x(s)); end.setAttribute("x2", x(s)); } };
};
const review = (step, show, footer, faults) => {
  const found = step.found;
  const again = el("button", { type: "button", onclick: () => said(`/take/${step.take}/discard`, {}, show) }, t("seat.discard_again"));
  if (found.end_s === undefined) { put(heading(t("caller.no_turn_title")), el("div", { class: "note" }, faults), el("div", { class: "card" }, own(step.take)), again, footer); return; }
  const drawn = wave(found);
  const end = el("input", { type: "range", min: found.start_s, max: found.lasts_s, step: 0.01, value: found.end_s, id: "end" });
  const began = Number(end.value); /* The range's own rounding of the end that was found. */
  const at = el("output", { for: "end" }, seconds(found.end_s));
  end.addEventListener("input", () => { at.textContent = seconds(Number(end.value)); drawn.moveEnd(Number(end.value)); });
  const pauses = found.pauses.map(([a, b]) => el("input", { type: "checkbox", checked: true, "data-from": a, "data-to": b }));
  const keep = el("button", { type: "button", class: "main", onclick: () => said(`/take/${step.take}/keep`, { ...(Number(end.value) === began ? {} : { end_s: Number(end.value) }), no_pauses: pauses.flatMap((box, k) => (box.checked ? [] : [k])) }, show) }, t("seat.keep"));
  put(heading(t("caller.as_you_said")), faults ? el("div", { class: "note" }, faults) : null, found.disagreements?.length ? el("div", { class: "note" }, el("p", {}, t("caller.have_a_look")), el("ul", { class: "faults" }, found.disagreements.map((each) => el("li", {}, each.words)))) : null,
    el("div", { class: "card" }, drawn.node, own(step.take)),
    el("div", { class: "card" }, el("h2", {}, el("label", { for: "end" }, t("caller.you_ended_at")), " ", at), end, el("p", { class: "quiet" }, t("caller.move_it")),
      pauses.length ? el("h2", {}, t("caller.paused_here")) : el("p", {}, t("caller.no_pause")), pauses.map((box) => el("label", { class: "check" }, box, el("span", {}, t("caller.from_to", { start: seconds(Number(box.dataset.from)), end: seconds(Number(box.dataset.to)) }))))),
    el("div", { class: "pair" }, again, keep), footer);
};
seat({ prompt, review }, () => t("caller.better_again"));
