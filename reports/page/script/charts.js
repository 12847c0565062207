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
const limited = (part, most) => ({ ...part, labelLimit: most });
/* A phone is narrower than a chart's words: there titles are broken into lines, long names lose their middles because they differ
   at their ends, names of columns are slanted, a bar leaves room for its figure, and a figure in a cell is as large as its cell, without its unit, or not there. */
const isPhone = matchMedia("screen and (max-width: 640px)");
const NAMES_SHARE = 0.34;
const lettersIn = (px) => Math.max(6, Math.floor(px / (7.4 * wider())));
const cutAt = (letters) => [Math.ceil(letters / 2) - 1, Math.floor(letters / 2)];
const middleCut = (letters) => {
  const [head, tail] = cutAt(letters);
  return `length(datum.label) > ${letters} ? slice(datum.label, 0, ${head}) + '…' + slice(datum.label, ${-tail}) : datum.label`;
};
const broken = (title, letters) => [title].flat().flatMap((line) => line.split(" ").reduce((lines, whole) => {
  const [head, tail] = cutAt(letters);
  const word = whole.length > letters ? `${whole.slice(0, head)}…${whole.slice(-tail)}` : whole;
  return lines.length && lines.at(-1).length + word.length < letters ? [...lines.slice(0, -1), `${lines.at(-1)} ${word}`] : [...lines, word];
}, []));
const hasNames = (spec) => spec.encoding?.y?.type === "nominal" || (spec.layer ?? []).some(hasNames);
const fitted = (spec, room, names = hasNames(spec)) => {
  const beside = room * (names ? 0.94 - NAMES_SHARE : 0.78);
  const axis = (name, { axis: its, type }) => ({ ...its, ...(its.title ? { title: broken(its.title, lettersIn(name === "x" ? beside : 240)) } : {}),
    ...(type !== "nominal" ? { tickCount: Math.min(its.tickCount ?? 4, 4), labelFlush: true } : name === "x" ? { labelAngle: its.orient === "top" && its.labelAngle ? -90 : -45, labelLimit: 110 } : its.labelExpr ? {} : { labelExpr: middleCut(lettersIn(NAMES_SHARE * room)) }) });
  const channel = ([name, one]) => [name, Array.isArray(one) ? one : { ...one, ...(one.axis ? { axis: axis(name, one) } : {}),
    ...(one.legend?.columns ? { legend: { ...one.legend, columns: Math.max(1, Math.floor(one.legend.columns * beside / 600)), labelExpr: middleCut(lettersIn(beside - 30)) } } : {}) }];
  const columns = spec.encoding?.text && spec.encoding.x?.type === "nominal" ? spec.encoding.x.sort.length : 0;
  const size = columns ? Math.min(12, beside / columns / (2.7 * wider())) : 0;
  return { ...spec, ...(spec.encoding ? { encoding: Object.fromEntries(Object.entries(spec.encoding).map(channel)) } : {}),
    ...(columns ? { mark: { ...spec.mark, fontSize: size, opacity: size < 7 ? 0 : 1 }, transform: [...(spec.transform ?? []), { calculate: "replace(datum.text, ' %', '')", as: "text" }] } : {}),
    ...(spec.mark?.type === "tick" ? { transform: [...(spec.transform ?? []), { calculate: `datum.ms * ${beside / Math.max(20, beside - 56 * wider())}`, as: "end" }] } : {}),
    ...(spec.layer ? { layer: spec.layer.map((part) => fitted(part, room, names)) } : {}) };
};
const themeFor = (room) => ({ ...page.theme, axis: limited(page.theme.axis, room ? NAMES_SHARE * room : page.theme.axis.labelLimit * wider()),
  legend: limited(page.theme.legend, room ? room - 30 : page.theme.legend.labelLimit * wider()) });
const specOf = (name, room) => {
  const made = JSON.parse(document.getElementById(`spec-${name}`).textContent,
    (key, value) => (key === "columns" && wider() > 1 ? Math.max(1, Math.floor(value / wider())) : value)); /* Of a legend. */
  const spec = room ? fitted(made, room) : made;
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
  /* In a font that is half again as wide no chart fits a phone: it is as wide as its letters need, and its own box scrolls. */
  const room = isPhone.matches && wider() < 1.5 ? holder.clientWidth : 0;
  holder.classList.toggle("roomy", isPhone.matches && !room);
  const drawing = window.vegaEmbed(holder, specOf(name, room), { ast: true, actions: false, logLevel: 1, renderer: "svg", config: themeFor(room) });
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
isPhone.addEventListener("change", () => near.forEach((holder) => { letGo(holder); draw(holder); }));
/* A chart that grows between press and release moves the link from under the pointer, and the click is lost. One that is being
   drawn has its picture before its size, so each that is not ready stays as high as it is. */
const unready = () => charts.filter((holder) => !holder.dataset.ready);
addEventListener("pointerdown", () => unready().forEach((holder) => { holder.style.height = `${holder.offsetHeight}px`; holder.classList.add("undrawn"); }), true);
["pointerup", "pointercancel"].forEach((end) => addEventListener(end, () => setTimeout(() => charts.forEach((holder) => { holder.style.height = ""; holder.classList.remove("undrawn"); })), true));
