/* The joint chart: one drawing a choice, made when the page was. The page has them packed; another choice swaps the drawing. */
let subset = "all";
const jointForm = document.querySelector("form[data-joint]");
let condition = jointForm?.elements.condition?.value ?? null;
/* One board at a time: of these conversations, and of one line condition where there are several. */
const showBoard = () => document.querySelectorAll("[data-only-subset]").forEach((node) => {
  node.hidden = node.dataset.onlySubset !== subset || (condition !== null && (node.dataset.onlyCondition ?? condition) !== condition);
});
/* Words have room for letters as wide as DejaVu Sans Bold's. Those of a wider font are pressed until they fit, measured on a canvas
   because the drawing of the other size is not shown. */
const pen = document.createElement("canvas").getContext("2d");
const pressed = (drawing) => {
  const [family, size] = ["font-family", "font-size"].map((name) => drawing.getAttribute(name));
  drawing.querySelectorAll("text[data-most]").forEach((text) => {
    pen.font = `${text.getAttribute("font-weight") ?? 400} ${text.getAttribute("font-size") ?? size}px ${family}`;
    if (pen.measureText(text.textContent).width <= Number(text.dataset.most)) return;
    text.setAttribute("textLength", text.dataset.most);
    text.setAttribute("lengthAdjust", "spacingAndGlyphs");
  });
  return drawing;
};
document.querySelectorAll("#chart-elo_latency > svg").forEach(pressed);
const showJoint = async () => {
  if (!jointForm) return;
  const { metric, percentile } = jointForm.elements;
  const key = () => [condition ?? page.conditions[0], metric.value, percentile.value, subset].join("|");
  const wanted = key();
  const drawings = (await packed("joint-drawings"))[wanted] ?? [];
  if (wanted !== key()) return; /* Switched again meanwhile. */
  const parsed = drawings.map((text) => pressed(document.importNode(new DOMParser().parseFromString(text, "image/svg+xml").documentElement, true)));
  document.getElementById("chart-elo_latency").replaceChildren(...parsed);
  document.querySelector('[data-empty="elo_latency"]').hidden = drawings.length > 0;
};
jointForm?.addEventListener("submit", (event) => event.preventDefault());
jointForm?.addEventListener("input", () => {
  if (jointForm.elements.condition) {
    condition = jointForm.elements.condition.value;
    document.querySelectorAll("[data-condition-words]").forEach((node) => { node.textContent = condition; });
    showBoard();
  }
  showJoint();
});
