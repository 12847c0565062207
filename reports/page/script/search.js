/* Words in any text: conversations are unpacked one by one, a breath between, and only their words are kept. */
const wordsOf = new Map();
const textOf = async (index) => {
  if (!wordsOf.has(index)) {
    const data = await conversationOnce(index);
    const { id, emotion, problem } = page.contexts[index];
    wordsOf.set(index, [id, emotion, problem, data.situation, ...data.history.map((said) => said[1]), ...data.references.map((r) => r[2]),
      ...data.turns.flatMap((t) => [t.written, t.heard, t.understood, t.failure, ...t.replayed.map((said) => said[1])]),
      ...data.judgments.map((row) => row.rationale)].filter(Boolean).join("\n").toLowerCase());
  }
  return wordsOf.get(index);
};
/* The conversations that hold all these words; null when the reader has typed on meanwhile. */
const search = async (text, isCurrent) => {
  const words = text.toLowerCase().split(/\s+/);
  const found = new Set();
  for (let index = 0; index < page.contexts.length; index += 1) {
    const all = await textOf(index);
    if (!isCurrent()) return null;
    if (words.every((word) => all.includes(word))) found.add(index);
    if (index % 10 === 9) {
      document.getElementById("filter-count").textContent = `searching, ${index + 1} of ${page.contexts.length}`;
      await new Promise((done) => { setTimeout(done); });
    }
  }
  return found;
};
