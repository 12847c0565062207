/* Opens what the address names, remembers what is chosen, and changes colours. */
/* A strip of twenty agents on each of three hundred rows is six thousand elements: each is made when its row comes near. */
const stateOf = (flags) => (flags < 0 ? "not played" : flags & 8 ? "failed" : flags & 4 ? "no reply" : flags & 1 ? "over budget" : "within budget");
const fillStrip = (strip) => strip.append(...page.contexts[strip.dataset.strip].flags.map((flags, k) => el("i", {
  class: flags < 0 ? "" : flags & 12 ? "x" : flags & 1 ? "o" : "g", title: `${page.agents[k]}: ${stateOf(flags)}` })));
const strips = new IntersectionObserver((entries) => entries.filter((e) => e.isIntersecting).forEach((e) => { strips.unobserve(e.target); fillStrip(e.target); }), { rootMargin: "400px" });
document.querySelectorAll("[data-strip]").forEach((strip) => strips.observe(strip));
const follow = async () => {
  const hash = location.hash.slice(1);
  if (!hash.includes("=")) {
    const target = hash ? document.getElementById(decodeURIComponent(hash)) : null;
    target?.closest("#main details:not(.context)")?.setAttribute("open", "");
    place(target);
    return;
  }
  const wanted = new URLSearchParams(hash);
  KEYS.forEach((key) => { filters.elements[key].value = wanted.get(key) ?? ""; });
  Object.entries(SORTED).forEach(([table, part]) => { if (wanted.has(part)) sortTable(table, wanted.get(part)); });
  await applyFilters();
  const index = page.contexts.findIndex((entry) => entry.id === wanted.get("context"));
  const disagreement = index < 0 && wanted.get("flag") === "disputed" ? visibleCards()[0] : undefined;
  if (disagreement) {
    disagreement.open = true;
    await showConversation(disagreement);
    place(disagreement.querySelector(".verdict-row")?.closest("details") ?? disagreement);
    return;
  }
  if (index < 0) { if (KEYS.some((key) => wanted.get(key))) place(document.getElementById("conversations")); else if (wanted.has("order")) place(document.getElementById("systems")); return; }
  cards[index].hidden = false;
  cards[index].open = true;
  await showConversation(cards[index]);
  const landing = chosen().with ? ".compared:not([hidden])" : chosen().agent ? ".turn:not([hidden])" : "summary";
  place(cards[index].querySelector(landing) ?? cards[index]);
};
cards.forEach((card) => card.addEventListener("toggle", () => {
  if (card.open) { showConversation(card); shown.context = page.contexts[card.dataset.index].id; }
  else if (shown.context === page.contexts[card.dataset.index].id) shown.context = "";
  else return;
  remember();
}));
filters.addEventListener("input", () => { applyFilters(); remember(); });
filters.addEventListener("submit", (event) => event.preventDefault());
document.getElementById("clear-filters").addEventListener("click", () => { KEYS.forEach((key) => { filters.elements[key].value = ""; }); applyFilters(); remember(); });
document.getElementById("copy-link").addEventListener("click", () => copyLink(document.getElementById("tools-note"), linkTo()));
addEventListener("hashchange", follow);
applyFilters().then(follow);
const themeButtons = [...document.querySelectorAll("[data-theme-choice]")];
themeButtons.forEach((button) => button.addEventListener("click", () => {
  const choice = button.dataset.themeChoice;
  if (choice === "auto") delete document.documentElement.dataset.theme; else document.documentElement.dataset.theme = choice;
  themeButtons.forEach((other) => other.setAttribute("aria-pressed", other === button));
}));
