/* Filters, links into a conversation, and colours. The address after # always says what is open, so it can be sent. */
const filters = document.getElementById("filters");
const cards = [...document.querySelectorAll("details.context")];
const FLAGS = { over: 1, cut: 2, silent: 4, failed: 8, discarded: 16 };
const matches = (entry, wanted) => {
  const column = wanted.agent ? page.agents.indexOf(wanted.agent) : -1;
  const flags = column < 0 ? entry.flags.reduce((all, f) => all | Math.max(f, 0), 0) : entry.flags[column];
  return (!wanted.subset || entry.subset === wanted.subset) && (column < 0 || flags >= 0)
    && (!wanted.flag || (flags & FLAGS[wanted.flag]) > 0) && (!wanted.text || entry.find.includes(wanted.text.toLowerCase()));
};
const applyFilters = () => {
  const wanted = Object.fromEntries(["text", "subset", "agent", "flag"].map((name) => [name, filters.elements[name].value.trim()]));
  let count = 0;
  cards.forEach((card, index) => { card.hidden = !matches(page.contexts[index], wanted); count += card.hidden ? 0 : 1; });
  document.querySelectorAll(".turn").forEach((turn) => { turn.hidden = Boolean(wanted.agent) && turn.dataset.agent !== wanted.agent; });
  document.getElementById("filter-count").textContent = counted(count, "conversation");
  document.getElementById("none-match").hidden = count > 0;
};
/* A strip of twenty agents on each of three hundred rows is six thousand elements: each is made when its row comes near. */
const fillStrip = (strip) => strip.append(...page.contexts[strip.dataset.strip].flags.map((flags, k) => el("i", {
  class: flags < 0 ? "" : flags & 12 ? "x" : flags & 1 ? "o" : "g",
  title: `${page.agents[k]}: ${flags < 0 ? "not played" : flags & 8 ? "failed" : flags & 4 ? "no reply" : flags & 1 ? "over budget" : "within budget"}` })));
const strips = new IntersectionObserver((entries) => entries.filter((e) => e.isIntersecting).forEach((e) => { strips.unobserve(e.target); fillStrip(e.target); }), { rootMargin: "400px" });
document.querySelectorAll("[data-strip]").forEach((strip) => strips.observe(strip));
const follow = async () => {
  const wanted = new URLSearchParams(location.hash.slice(1));
  if (!wanted.has("context")) return;
  const index = page.contexts.findIndex((entry) => entry.id === wanted.get("context"));
  if (index < 0) return;
  if (wanted.has("agent")) filters.elements.agent.value = wanted.get("agent");
  applyFilters();
  cards[index].hidden = false;
  cards[index].open = true;
  await showConversation(cards[index]);
  cards[index].scrollIntoView();
};
cards.forEach((card) => card.addEventListener("toggle", () => {
  if (!card.open) return;
  showConversation(card);
  const link = new URLSearchParams({ context: page.contexts[card.dataset.index].id });
  if (filters.elements.agent.value) link.set("agent", filters.elements.agent.value);
  history.replaceState(null, "", `#${link}`);
}));
filters.addEventListener("input", applyFilters);
filters.addEventListener("submit", (event) => event.preventDefault());
addEventListener("hashchange", follow);
applyFilters();
follow();
const themeButtons = [...document.querySelectorAll("[data-theme-choice]")];
themeButtons.forEach((button) => button.addEventListener("click", () => {
  const choice = button.dataset.themeChoice;
  if (choice === "auto") delete document.documentElement.dataset.theme; else document.documentElement.dataset.theme = choice;
  themeButtons.forEach((other) => other.setAttribute("aria-pressed", other === button));
}));
