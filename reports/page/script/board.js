/* The board: which conversations are shown, in which order, and how two agents did on each. */
const cards = [...document.querySelectorAll("details.context")];
const FLAGS = { over: 1, cut: 2, silent: 4, failed: 8, discarded: 16, disputed: 32, slowest: 64, undecided: 128 };
const columns = () => {
  const { agent, with: other } = chosen();
  const named = [agent, other].filter(Boolean).map((name) => page.agents.indexOf(name)).filter((k) => k >= 0);
  return named.length ? [...new Set(named)] : page.agents.map((_, k) => k);
};
const visibleCards = () => [...document.querySelectorAll("#context-list > details.context")].filter((card) => !card.hidden);
const known = (entry) => columns().map((k) => entry.ms[k]).filter((value) => value !== null);
/* Silence, a reply that began too early and a session that its agent lost are the slowest there is, and no number. */
const isSlowest = (entry, k) => (Math.max(entry.flags[k], 0) & FLAGS.slowest) > 0;
const rank = (entry, k) => entry.ms[k] ?? (isSlowest(entry, k) ? Infinity : null);
const difference = (entry) => {
  const both = columns().map((k) => rank(entry, k));
  return both.length === 2 && !both.includes(null) && both.some(Number.isFinite) ? both[1] - both[0] : null;
};
const SORTS = {
  slowest: (entry) => Math.max(-1, ...columns().map((k) => (isSlowest(entry, k) ? Infinity : entry.slowest_ms[k] ?? -1))),
  quickest: (entry) => -Math.min(1e9, ...known(entry)),
  difference: (entry) => Math.abs(difference(entry) ?? -1),
  disputed: (entry) => entry.disputed,
};
/* Judges may disagree on two references, where no agent has a part in it. */
const matches = (entry, index, wanted, found) => {
  const mine = columns();
  const named = wanted.agent || wanted.with;
  const flags = mine.reduce((all, k) => all | Math.max(entry.flags[k], 0), 0);
  return (!wanted.subset || entry.subset === wanted.subset) && (!wanted.emotion || entry.emotion === wanted.emotion)
    && (!named || mine.every((k) => entry.flags[k] >= 0)) && (!wanted.flag || (flags & FLAGS[wanted.flag]) > 0 || (wanted.flag === "disputed" && !named && entry.disputed > 0)) && (found === null || found.has(index));
};
const whyNone = (flags) => (flags & FLAGS.silent ? "no reply" : flags & FLAGS.failed ? "failed" : "began too early");
const isDiscarded = (entry, k) => entry.ms[k] === null && !isSlowest(entry, k) && (Math.max(entry.flags[k], 0) & FLAGS.discarded) > 0;
const waitOf = (entry, k) => (isDiscarded(entry, k) ? "discarded" : isSlowest(entry, k) && entry.ms[k] === null ? whyNone(entry.flags[k]) : ms(entry.ms[k]));
/* Each agent's latency where there are few; where there are many, the quickest and the slowest. */
const MOST_NAMED = 3;
const LATENCY = page.spoken.every(Boolean) ? "TTFA" : page.spoken.some(Boolean) ? "TTFA or TTFT" : "TTFT";
const waitsOf = (entry) => {
  const of = (k) => [said(page.agents[k]), ` ${waitOf(entry, k)}`];
  const named = columns().filter((k) => rank(entry, k) !== null || isDiscarded(entry, k));
  if (named.length && page.agents.length <= MOST_NAMED) return [`${LATENCY} `, ...named.flatMap((k, n) => [n ? ", " : "", ...of(k)])];
  const played = columns().filter((k) => rank(entry, k) !== null);
  if (!played.length) return [];
  const [first, last] = [Math.min, Math.max].map((most) => played.find((k) => rank(entry, k) === most(...played.map((one) => rank(entry, one)))));
  return [`${LATENCY} `, el("span", { title: page.agents[first] }, waitOf(entry, first)), ...(first === last ? [] : [" to ", el("span", { title: page.agents[last] }, waitOf(entry, last))])];
};
const figureOf = (entry, wanted) => {
  if (!wanted.agent) return waitsOf(entry);
  const [first, second] = columns().map((k) => waitOf(entry, k));
  const apart = difference(entry);
  return [second === undefined ? first : `${first} against ${second}${Number.isFinite(apart ?? NaN) ? ` (${apart > 0 ? "+" : ""}${ms(apart)})` : ""}`];
};
const showTurns = (root = document) => {
  const { agent, with: other } = chosen();
  root.querySelectorAll(".turn").forEach((turn) => { turn.hidden = Boolean(agent || other) && ![agent, other].includes(turn.dataset.agent); });
  root.querySelectorAll(".turns").forEach((turns) => turns.classList.toggle("side-by-side", Boolean(agent && other && agent !== other)));
  root.querySelectorAll(".compared").forEach((line) => { line.hidden = !(agent && other && agent !== other); });
};
/* Three hundred conversations are fifteen screens: the first dozen are shown until the reader asks for all, or a link for one below. */
const MOST_ROWS = 12;
const list = document.getElementById("context-list"), moreRows = document.getElementById("more-rows");
let everyRow = false;
const shorten = (count) => {
  moreRows.hidden = everyRow || count <= MOST_ROWS;
  list.classList.toggle("short", !moreRows.hidden);
  moreRows.firstElementChild.textContent = `The first ${MOST_ROWS} of ${grouped(count)} are shown.`;
};
const showAllRows = () => { everyRow = true; shorten(visibleCards().length); };
moreRows.querySelector("button").addEventListener("click", () => { const next = visibleCards()[MOST_ROWS]; showAllRows(); next?.querySelector("summary").focus(); });
let asked = 0;
let lastSearch = ["", null];
const applyFilters = async () => {
  const turn = ++asked;
  const wanted = chosen();
  if (wanted.text && lastSearch[0] !== wanted.text) {
    const found = await search(wanted.text, () => turn === asked);
    if (found === null) return;
    lastSearch = [wanted.text, found];
  }
  const found = wanted.text ? lastSearch[1] : null;
  let count = 0;
  cards.forEach((card, index) => {
    const entry = page.contexts[index];
    card.hidden = !matches(entry, index, wanted, found);
    card.querySelector(".figure").replaceChildren(...figureOf(entry, wanted));
    count += card.hidden ? 0 : 1;
  });
  const key = SORTS[wanted.sort];
  const order = cards.map((card, index) => [card, key ? key(page.contexts[index]) : 0]);
  if (key) order.sort((a, b) => b[1] - a[1]);
  if (key || list.dataset.sorted) list.append(...order.map(([card]) => card));
  list.dataset.sorted = wanted.sort;
  shorten(count);
  showTurns();
  cards.filter((card) => card.open).forEach(compare);
  document.getElementById("filter-count").textContent = `${counted(count, "conversation")} of ${grouped(cards.length)}`;
  document.getElementById("none-match").hidden = count > 0;
};
/* The two chosen agents on one conversation, in a line: who was sooner, and whom judges and people preferred. */
const compare = async (card) => {
  showHandover(card);
  const line = card.querySelector(".compared");
  const { agent, with: other } = chosen();
  if (!line || !agent || !other || agent === other) return;
  const entry = page.contexts[card.dataset.index];
  const data = await conversation(card.dataset.index);
  const both = data.judgments.filter((row) => [row.system_a, row.system_b].includes(agent) && [row.system_a, row.system_b].includes(other));
  const apart = difference(entry);
  const sooner = apart === null ? "no difference in latency can be told" : apart === 0 ? "both answered after the same time"
    : Number.isFinite(apart) ? `${apart > 0 ? agent : other} answered ${ms(Math.abs(apart))} sooner` : `only ${apart > 0 ? agent : other} gave an answer that counts`;
  const tally = (rows, words) => {
    if (!rows.length) return [];
    const won = rows.filter((row) => row.winner !== "tie" && (row.winner === "a" ? row.system_a : row.system_b) === agent).length;
    const ties = rows.filter((row) => row.winner === "tie").length;
    return [`; of ${words} ${won} for `, said(agent), `, ${rows.length - won - ties} for `, said(other), ties ? `, ${counted(ties, "tie")}` : ""];
  };
  const [judged, voted] = [both.filter((row) => !row.human), both.filter((row) => row.human)];
  line.replaceChildren(said(sooner), ...tally(judged, counted(judged.length, "verdict")), ...tally(voted, `${counted(voted.length, "vote")} by people`),
    both.length ? "." : "; no verdict compares the two.");
};
/* A table of agents by any of its columns; a figure that is not known goes last, whichever way it is sorted. */
const sortTable = (table, order) => {
  const [key, way] = order.split("-");
  const rows = [...document.querySelectorAll(`#${table} tbody tr`)];
  rows.forEach((row, k) => { row.dataset.first ??= k; });
  const heads = [...document.querySelectorAll(`#${table} thead th`)];
  const column = heads.findIndex((head) => head.firstElementChild.dataset.order === key);
  if (column < 0 && (order || !shown[SORTED[table]])) return;
  shown[SORTED[table]] = order;
  heads.forEach((head, k) => { if (k === column) head.setAttribute("aria-sort", way === "up" ? "ascending" : "descending"); else head.removeAttribute("aria-sort"); });
  const valueOf = (row) => (column < 0 ? -row.dataset.first : column === 0 ? row.cells[0].textContent.trim() : row.cells[column].dataset.value);
  document.querySelectorAll(`#${table} tbody`).forEach((body) => body.append(...[...body.rows].map((row) => [row, valueOf(row)]).sort(([, a], [, b]) => {
    if (a === undefined || b === undefined) return (a === undefined) - (b === undefined);
    const found = column === 0 ? a.localeCompare(b) : Number(a) - Number(b);
    return way === "up" ? found : -found;
  }).map(([row]) => row)));
};
Object.keys(SORTED).forEach((table) => document.querySelectorAll(`#${table} [data-order]`).forEach((button) => button.addEventListener("click", () => {
  const key = button.dataset.order, now = shown[SORTED[table]];
  sortTable(table, `${key}-${now === `${key}-down` || (key === "name" && now !== "name-up") ? "up" : "down"}`);
  remember(button);
})));
