/* Opens what the address names, and goes back and forth in what was chosen. */
/* A strip of twenty agents on each of three hundred rows is six thousand elements: each is made when its row comes near. */
/* A mark is green only where a latency that counts is within its budget: a discarded turn says nothing of the agent. */
const stateOf = (entry, k) => {
  const flags = entry.flags[k];
  if (flags < 0) return ["", "not played"];
  if (flags & FLAGS.failed) return ["x", "failed"];
  if (isDiscarded(entry, k)) return ["d", "discarded, which is neither within budget nor over it"];
  if (flags & FLAGS.silent) return ["x", "no reply"];
  if (flags & FLAGS.over) return ["o", "over budget"];
  if (flags & FLAGS.undecided) return ["u", "over or within budget: this machine cannot tell"];
  return entry.ms[k] === null ? ["d", "no latency"] : ["g", "within budget"];
};
const fillStrip = (strip) => strip.append(...page.agents.map((name, k) => {
  const [mark, words] = stateOf(page.contexts[strip.dataset.strip], k);
  return el("i", { class: mark, title: `${name}: ${words}` });
}));
const strips = new IntersectionObserver((entries) => entries.filter((e) => e.isIntersecting).forEach((e) => { strips.unobserve(e.target); fillStrip(e.target); }), { rootMargin: "400px" });
document.querySelectorAll("[data-strip]").forEach((strip) => strips.observe(strip));
const byProgram = new Set();
const setOpen = (card, open) => { if (open && !card.checkVisibility()) showAllRows(); if (card.open !== open) { byProgram.add(card); card.open = open; } };
const clearFilters = () => KEYS.forEach((key) => { filters.elements[key].value = ""; });
/* A link can name something that this page does not have: it says so, and leads back to the whole board. */
const unknown = document.getElementById("unknown");
const missing = (wanted) => [...KEYS.filter((key) => key !== "text" && wanted.get(key) && filters.elements[key].value !== wanted.get(key)).map((key) => [key === "with" ? "agent" : key, wanted.get(key)]),
  ...(wanted.get("context") && !page.contexts.some((c) => c.id === wanted.get("context")) ? [["conversation", wanted.get("context")]] : [])];
const sayUnknown = (found) => unknown.replaceChildren(...(found.length ? [el("span", {}, "This page has no ", found.map(([what, name], k) => [k ? ", no " : "", `${what} “`, said(name), "”"]), ". "),
  el("button", { type: "button", class: "plain", onclick: showAll }, "Show the whole board")] : []));
const showAll = () => { clearFilters(); shown.context = ""; sayUnknown([]); remember(document.getElementById("clear-filters")); applyFilters(); document.getElementById("clear-filters").focus(); };
const follow = async () => {
  const [hash, state, here] = [location.hash.slice(1), history.state, location.href];
  if (!hash.includes("=") && !state) {
    const target = hash ? document.getElementById(decodeURIComponent(hash)) : null;
    place(target);
    entry = seenNow();
    return;
  }
  const wanted = new URLSearchParams(hash.includes("=") ? hash : state.view);
  KEYS.forEach((key) => { filters.elements[key].value = wanted.get(key) ?? ""; });
  Object.entries(SORTED).forEach(([table, part]) => sortTable(table, wanted.get(part) ?? ""));
  const found = missing(wanted);
  sayUnknown(found);
  await applyFilters();
  const index = page.contexts.findIndex((c) => c.id === wanted.get("context"));
  shown.context = index < 0 ? "" : wanted.get("context");
  if (state) await restore(state); else await arrive(wanted, index, found);
  if (location.href !== here) return; /* Gone on meanwhile. */
  entry = { ...seenNow(), ...(found.length ? { view: hash } : {}) };
  history.replaceState({ ...history.state, ...entry }, "", found.length ? here : linkTo());
};
/* Back or Forward: what was open then is open, and the reader is where they were. */
const restore = async ({ open, focus, y }) => {
  cards.forEach((card) => setOpen(card, open.includes(card.id)));
  const opened = cards.filter((card) => card.open);
  opened.forEach((card) => { card.hidden = false; });
  await Promise.all(opened.map(showConversation));
  if (focus) document.querySelector(focus)?.focus({ preventScroll: true });
  if (y !== undefined) hold(() => scrollTo({ top: y, behavior: "instant" }));
};
/* A link: to a conversation or a turn of it, to the first disagreement, to the board, or to a sorted table. */
const arrive = async (wanted, index, found) => {
  const card = cards[index] ?? (wanted.get("flag") === "disputed" ? visibleCards()[0] : undefined);
  if (found.length) { place(unknown); return; }
  if (!card) { if (KEYS.some((key) => wanted.get(key))) place(document.getElementById("conversations")); else place(document.getElementById(wanted.has("answers") ? "verdict" : "systems")); return; }
  card.hidden = false;
  setOpen(card, true);
  shown.context = page.contexts[card.dataset.index].id;
  await showConversation(card);
  const landing = index < 0 ? null : chosen().with ? ".compared:not([hidden])" : chosen().agent ? ".turn:not([hidden])" : "summary";
  place((landing ? card.querySelector(landing) : card.querySelector(".verdict-row")?.closest("details")) ?? card);
};
cards.forEach((card) => card.addEventListener("toggle", () => {
  const id = page.contexts[card.dataset.index].id;
  if (card.open) showConversation(card);
  if (byProgram.delete(card)) return;
  if (card.open) shown.context = id; else if (shown.context === id) shown.context = "";
  remember(card.querySelector("summary"));
}));
let typing = false;
filters.addEventListener("input", ({ target }) => {
  const goesOn = typing && target.name === "text";
  typing = target.name === "text";
  sayUnknown([]);
  remember(target, goesOn);
  applyFilters();
});
filters.elements.text.addEventListener("change", () => { typing = false; });
filters.addEventListener("submit", (event) => event.preventDefault());
document.getElementById("clear-filters").addEventListener("click", showAll);
document.getElementById("copy-link").addEventListener("click", () => copyLink(document.getElementById("tools-note"), linkTo()));
/* A link within the page leaves an entry too: it remembers where the reader was. */
addEventListener("click", ({ target }) => {
  const link = target.closest?.('a[href^="#"]');
  if (!link) return;
  history.replaceState({ ...entry, focus: "", y: scrollY }, "");
  if (link.hash === location.hash) unfold(document.getElementById(link.hash.slice(1))); /* The browser leads there, and no hash changes. */
}, true);
addEventListener("hashchange", follow);
applyFilters().then(follow);
