/* Draws each specification where it is seen first. Vega runs with its own interpreter: the page forbids eval. */
const drawn = new Map();
const chosen = (name) => {
  const form = document.querySelector(`form[data-chart="${name}"]`);
  if (!form) return {};
  return Object.fromEntries([...form.elements].filter((e) => e.name).map((e) => [e.name, e.type === "checkbox" ? e.checked : e.value]));
};
const withChoices = (spec, values) => ({ ...spec, params: (spec.params ?? []).map((p) => (p.name in values ? { ...p, value: values[p.name] } : p)) });
const draw = async (name) => {
  const values = chosen(name);
  const holder = document.getElementById(`chart-${name}`);
  drawn.get(name)?.view.finalize();
  const result = await window.vegaEmbed(holder, withChoices(page.charts[name], values),
    { ast: true, actions: false, logLevel: 1, renderer: "svg", config: isDark() ? page.themes.dark : page.themes.light, tooltip: { theme: isDark() ? "dark" : "light" } });
  drawn.set(name, result);
  holder.querySelector("svg").setAttribute("aria-hidden", "true"); /* The holder itself is the picture and has its words. */
  holder.dataset.ready = "yes";
  const empty = document.querySelector(`[data-empty="${name}"]`);
  if (empty) {
    const rows = page.points.filter((row) => row.metric === values.metric && row.percentile === values.percentile && row.subset === values.subset);
    empty.hidden = rows.length > 0;
  }
};
/* The chart in view is drawn at once, the rest one by one while the reader reads. */
const startCharts = () => {
  const missing = () => [...document.querySelectorAll(".chart")].find((holder) => !drawn.has(holder.id.slice(6)));
  const seen = new IntersectionObserver((entries) => entries.filter((e) => e.isIntersecting).forEach((e) => { seen.unobserve(e.target);
    if (!drawn.has(e.target.id.slice(6))) draw(e.target.id.slice(6)); }), { rootMargin: "600px" });
  document.querySelectorAll(".chart").forEach((holder) => seen.observe(holder));
  document.querySelectorAll("form[data-chart]").forEach((form) => {
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", () => {
      draw(form.dataset.chart);
      const note = document.querySelector(".published-note");
      if (note && form.elements.published) note.hidden = !form.elements.published.checked;
    });
  });
  document.addEventListener("themechange", () => [...drawn.keys()].forEach(draw));
  const rest = async () => { const holder = missing(); if (!holder) return; await draw(holder.id.slice(6)); setTimeout(rest, 30); };
  setTimeout(rest, 400);
  addEventListener("beforeprint", () => document.querySelectorAll(".chart").forEach((holder) => { if (!drawn.has(holder.id.slice(6))) draw(holder.id.slice(6)); }));
};
if (window.vegaEmbed) startCharts(); else addEventListener("vega-ready", startCharts, { once: true });
