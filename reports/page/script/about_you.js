/* A study's questions about the person, each of which may be left out; `answers()` has those that were not. */
export const questionsAbout = (t, questions) => {
  if (!questions.length) return { node: null, answers: () => ({}) };
  const field = ({ name, kind, choices }) => (kind === "choice" ? el("select", { name }, el("option", { value: "" }, t("study.no_answer")), choices.map((choice) => el("option", { value: choice }, choice)))
    : el("input", { name, type: kind === "number" ? "number" : "text", step: "any", maxlength: 500, autocomplete: "off" }));
  const asked = questions.map((question) => ({ ...question, field: field(question) }));
  const node = el("fieldset", { class: "about-you" }, el("legend", {}, t("study.about_you")), el("p", {}, t("study.about_you_why")), asked.map(({ label, field: input }) => el("label", {}, el("span", {}, label), input)));
  return { node, answers: () => Object.fromEntries(asked.flatMap(({ name, kind, field: input }) => (input.value.trim() === "" ? [] : [[name, kind === "number" ? Number(input.value) : input.value.trim()]]))) };
};
/* What follows the last answer: where somebody to talk to is. */
export const goodbye = (t, { helplines }) => [el("p", {}, t("study.after")), el("ul", { class: "helplines" }, helplines.map((one) => el("li", { dir: "auto" }, one)))];
