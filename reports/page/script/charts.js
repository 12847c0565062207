/* Draws each chart where it is seen, and lets go of it when it is far away: its picture stays, its machinery does not.
   Vega is a megabyte of script, so it is run when the first chart is wanted; with its own interpreter, for the page forbids eval. */
const charts = [...document.querySelectorAll(".chart")];
const drawn = new Map();
const nameOf = (holder) => holder.id.slice("chart-".length);
const needVega = () => { if (!window.vegaEmbed) document.body.append(el("script", {}, document.getElementById("vega").textContent)); };
/* Labels end in an ellipsis beyond so many letters of a reader's font, not beyond so many pixels. */
const wider = () => {
  pen.font = `100px ${page.theme.font}`;
  return Math.max(1, pen.measureText("Elo, latency and empathy").width / 1280);
};
const limited = (part, by) => ({ ...part, labelLimit: part.labelLimit * by });
const theme = { ...page.theme, axis: limited(page.theme.axis, wider()), legend: limited(page.theme.legend, wider()) };
const specOf = (name) => {
  const spec = JSON.parse(document.getElementById(`spec-${name}`).textContent);
  return { ...spec, params: (spec.params ?? []).map((p) => (p.name === "subset" ? { ...p, value: subset } : p)) };
};
const settled = (holder) => {
  holder.querySelector("svg").setAttribute("aria-hidden", "true"); /* The holder itself is the picture and has its words. */
  holder.dataset.shown = subset;
  holder.dataset.ready = "yes";
};
const letGo = (holder) => { const kept = drawn.get(nameOf(holder)); drawn.delete(nameOf(holder)); kept?.then((result) => result.view.finalize()); };
const draw = async (holder) => {
  needVega();
  const name = nameOf(holder);
  const drawing = window.vegaEmbed(holder, specOf(name), { ast: true, actions: false, logLevel: 1, renderer: "svg", config: theme });
  drawn.set(name, drawing);
  const { view } = await drawing;
  if (drawn.get(name) === drawing) await choose(holder, view); /* What was switched while it was being drawn. */
  settled(holder);
};
/* A switch sets the chart's own parameter; nothing is built again. */
const choose = async (holder, view) => {
  if (view.getState().signals.subset !== undefined) view.signal("subset", subset);
  await view.runAsync();
  settled(holder);
};
/* All switches of conversations are one: the joint chart, the tables and every chart that can follow. */
const showSubset = (value) => {
  subset = value;
  document.querySelectorAll("select[data-subset]").forEach((other) => { other.value = value; });
  showBoard();
  showJoint();
  document.querySelectorAll("[data-subset-words]").forEach((node) => { node.textContent = value; });
  charts.forEach((holder) => drawn.get(nameOf(holder))?.then(({ view }) => choose(holder, view)));
};
document.querySelectorAll("select[data-subset]").forEach((select) => select.addEventListener("input", () => showSubset(select.value)));
document.querySelectorAll("form[data-switches]").forEach((form) => form.addEventListener("submit", (event) => event.preventDefault()));
/* One after another, with a breath between, so that scrolling past ten charts never freezes the page. */
let queue = Promise.resolve();
const near = new Set();
const seen = new IntersectionObserver((entries) => entries.forEach(({ target, isIntersecting }) => {
  if (!isIntersecting) { near.delete(target); letGo(target); return; }
  near.add(target);
  queue = queue.then(async () => {
    if (!near.has(target) || drawn.has(nameOf(target))) return;
    await draw(target);
    await new Promise((done) => { setTimeout(done, 20); });
  });
}), { rootMargin: "300px" });
charts.forEach((holder) => seen.observe(holder));
/* A chart that grows between press and release moves the link from under the pointer, and the click is lost. */
addEventListener("pointerdown", () => charts.forEach((holder) => holder.classList.toggle("undrawn", !holder.querySelector("svg"))), true);
["pointerup", "pointercancel"].forEach((end) => addEventListener(end, () => setTimeout(() => charts.forEach((holder) => holder.classList.remove("undrawn"))), true));
