/* Draws each specification where it is seen first. Vega runs with its own interpreter: the page forbids eval. */
const drawn = new Map();
const withChoices = (spec, values) => ({ ...spec, params: (spec.params ?? []).map((p) => (p.name in values ? { ...p, value: values[p.name] } : p)) });
const draw = async (name) => {
  const holder = document.getElementById(`chart-${name}`);
  drawn.get(name)?.view.finalize();
  const result = await window.vegaEmbed(holder, withChoices(page.charts[name], { subset }),
    { ast: true, actions: false, logLevel: 1, renderer: "svg", config: page.theme, tooltip: { theme: "custom" } });
  drawn.set(name, result);
  await choose(name); /* What was switched while it was being drawn. */
  holder.dataset.ready = "yes";
};
/* A switch sets the chart's own parameters; nothing is built again. */
const choose = async (name) => {
  const values = { subset };
  const view = drawn.get(name)?.view;
  if (view) {
    (page.charts[name].params ?? []).forEach((p) => { if (p.name in values) view.signal(p.name, values[p.name]); });
    await view.runAsync();
    document.querySelector(`#chart-${name} svg`).setAttribute("aria-hidden", "true"); /* The holder itself is the picture and has its words. */
  }
};
/* All switches of conversations are one: the joint chart, the tables and every chart that can follow. */
const showSubset = (value) => {
  subset = value;
  document.querySelectorAll("select[data-subset]").forEach((other) => { other.value = value; });
  showBoard();
  showJoint();
  document.querySelectorAll("[data-subset-words]").forEach((node) => { node.textContent = value; });
  [...drawn.keys()].forEach(choose);
};
document.querySelectorAll("select[data-subset]").forEach((select) => select.addEventListener("input", () => showSubset(select.value)));
document.querySelectorAll("form[data-switches]").forEach((form) => form.addEventListener("submit", (event) => event.preventDefault()));
/* The chart in view is drawn at once, the rest one by one while the reader reads. */
const startCharts = () => {
  const missing = () => [...document.querySelectorAll(".chart")].find((holder) => !drawn.has(holder.id.slice(6)));
  const seen = new IntersectionObserver((entries) => entries.filter((e) => e.isIntersecting).forEach((e) => { seen.unobserve(e.target);
    if (!drawn.has(e.target.id.slice(6))) draw(e.target.id.slice(6)); }), { rootMargin: "600px" });
  document.querySelectorAll(".chart").forEach((holder) => seen.observe(holder));
  const rest = async () => { const holder = missing(); if (!holder) return; await draw(holder.id.slice(6)); setTimeout(rest, 30); };
  setTimeout(rest, 400);
  addEventListener("beforeprint", () => document.querySelectorAll(".chart").forEach((holder) => { if (!drawn.has(holder.id.slice(6))) draw(holder.id.slice(6)); }));
};
if (window.vegaEmbed) startCharts(); else addEventListener("vega-ready", startCharts, { once: true });
