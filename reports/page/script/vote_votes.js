/* The votes of everybody who votes on this page in this browser. Each is in the browser's store before the next pair is shown,
   so that a closed page loses none; where a browser refuses, the page says so. */
const votesOf = (run) => {
  const key = `votes:${run}`;
  let raters = [];
  let trouble = "";
  const refused = () => { trouble = "quick_vote.keeps_nothing"; };
  const load = () => {
    try {
      const found = JSON.parse(localStorage.getItem(key) ?? "[]");
      raters = found.filter((rater) => typeof rater.name === "string" && typeof rater.start === "number" && Array.isArray(rater.votes));
    } catch (error) { if (error instanceof SyntaxError || error instanceof TypeError) raters = []; else refused(); }
  };
  const save = () => { try { localStorage.setItem(key, JSON.stringify(raters)); } catch { refused(); } };
  const chance = () => crypto.getRandomValues(new Uint32Array(1))[0] / 2 ** 32;
  load();
  save();
  return {
    key,
    load,
    chance,
    trouble: () => trouble,
    last: () => raters.at(-1),
    /* A person begins anywhere in the drawn order, each place as likely: so every pair is met as often by people who stop early. */
    begin: (name) => {
      const known = raters.find((rater) => rater.name === name) ?? { name, start: chance(), file: Math.floor(chance() * 0x10000).toString(16).padStart(4, "0"), votes: [] };
      raters = [...raters.filter((rater) => rater.name !== name), known];
      save();
      return known;
    },
    /* What a person agreed to before their first pair, by its version, and what they said of themselves. */
    agree: (rater, consent, about) => { rater.consent = consent; rater.about = about; save(); },
    add: (rater, vote) => { rater.votes.push(vote); save(); },
    takeBack: (rater) => { rater.votes.pop(); save(); },
  };
};
const pairOf = (vote) => [vote.condition, vote.presentation, vote.context, vote.system_a, vote.system_b].join("\n");
const nextPair = (rater, pairs) => {
  const done = new Set(rater.votes.map(pairOf));
  const start = Math.floor(rater.start * pairs.length);
  return [...pairs.slice(start), ...pairs.slice(0, start)].find((pair) => !done.has(pairOf(pair)));
};
const votesFile = (rater) => {
  const plain = rater.name.normalize("NFKD").toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 40);
  return `votes-${plain || "rater"}-${rater.file}.csv`;
};
