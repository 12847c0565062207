/* The address after # says what is chosen and what is open, so that a link shows what its sender saw, and every act of the reader
   is a place in the browser's history, so that Back undoes it. A plain #section is a place on the page. Charts grow as they are
   drawn, so a place is held until the reader moves. */
const filters = document.getElementById("filters");
const KEYS = ["text", "agent", "with", "subset", "emotion", "flag", "sort"];
const chosen = () => Object.fromEntries(KEYS.map((key) => [key, filters.elements[key].value.trim()]));
/* Tables that can be sorted, and the part of the address with their order. */
const SORTED = { answers: "answers", board: "order" };
const shown = { context: "", order: "", answers: "" };
const linkTo = (more = {}) => {
  const all = { ...chosen(), ...shown, ...more };
  const link = new URLSearchParams(Object.entries(all).filter(([, value]) => value));
  return `${location.href.split("#")[0]}#${link}`;
};
const seenNow = () => ({ view: linkTo().split("#")[1], open: [...document.querySelectorAll("details.context[open]")].map((card) => card.id) });
let entry = { view: "", open: [] }; /* What the history's present entry shows. */
const pathOf = (node) => (node?.id ? `#${node.id}` : node?.name ? `#filters [name="${node.name}"]` : node?.matches("summary") ? `#${node.parentElement.id} > summary`
  : node?.dataset.order ? `#${node.closest("table").id} [data-order="${node.dataset.order}"]` : "");
/* An act at this control, as an entry of its own; as a part of the present entry if it goes on with the act before, as typing does. */
const remember = (node, goesOn = false) => {
  const next = seenNow();
  if (JSON.stringify(next) === JSON.stringify(entry)) return;
  if (!goesOn) history.replaceState({ ...entry, focus: pathOf(node), y: scrollY }, "");
  history[goesOn ? "replaceState" : "pushState"]({ ...next, focus: pathOf(node) }, "", linkTo());
  entry = next;
};
const hold = (go) => {
  const watch = new ResizeObserver(go);
  const stop = () => { watch.disconnect(); MOVES.forEach((move) => removeEventListener(move, stop, true)); };
  const MOVES = ["wheel", "touchmove", "keydown", "pointerdown"];
  MOVES.forEach((move) => addEventListener(move, stop, { capture: true, passive: true }));
  watch.observe(document.getElementById("main"));
  setTimeout(stop, 4000);
  go();
};
/* What is folded above a place is opened, and so is a section's own fold when the section is asked for. */
const unfold = (node) => {
  for (let above = node?.closest("details"); above && !above.matches(".context"); above = above.parentElement.closest("details")) above.open = true;
  node?.querySelectorAll(":scope > details.fold").forEach((fold) => { fold.open = true; });
};
const place = (node) => { unfold(node); if (node) hold(() => node.scrollIntoView({ behavior: "instant", block: "start" })); };
const copyText = async (text) => {
  try { await navigator.clipboard.writeText(text); return true; } catch {
    const field = el("textarea", { style: { position: "fixed", opacity: "0" }, "aria-hidden": "true" });
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
};
const copyLink = async (note, link) => {
  note.textContent = (await copyText(link)) ? "Link copied." : `This browser does not let the page copy; the link is ${link}`;
};
