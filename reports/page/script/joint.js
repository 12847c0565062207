/* The joint chart: one drawing a choice, made when the page was. The page has them packed; another choice swaps the drawing. */
let subset = "all";
const jointForm = document.querySelector("form[data-joint]");
let condition = jointForm?.elements.condition?.value ?? null;
/* One board at a time: of these conversations, and of one line condition where there are several. */
const showBoard = () => document.querySelectorAll("[data-only-subset]").forEach((node) => {
  node.hidden = node.dataset.onlySubset !== subset || (condition !== null && (node.dataset.onlyCondition ?? condition) !== condition);
});
const showJoint = async () => {
  if (!jointForm) return;
  const { metric, percentile } = jointForm.elements;
  const key = () => [condition ?? page.conditions[0], metric.value, percentile.value, subset].join("|");
  const wanted = key();
  const drawings = (await packed("joint-drawings"))[wanted] ?? [];
  if (wanted !== key()) return; /* Switched again meanwhile. */
  const parsed = drawings.map((text) => document.importNode(new DOMParser().parseFromString(text, "image/svg+xml").documentElement, true));
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
