/* A page's words in its language (harness/study/texts): `t("shared.reply", { letter: "A" })`, and a list where a key has several texts. */
export const wordsIn = ({ texts }) => (key, values = {}) => {
  const found = texts[key];
  if (Array.isArray(found)) return found;
  return (found.other === undefined ? found : found[values.n === 1 ? "one" : "other"]).replace(/\{(\w+)\}/g, (_, name) => values[name]);
};
