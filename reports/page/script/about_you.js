/* A study's questions about the person, each of which may be left out; `answers()` has those that were not, by their words. */
export const questionsAbout = (t, questions) => {
  if (!questions.length) return { node: null, answers: () => ({}) };
  const field = ({ kind, choices }) => (kind === "choice" ? el("select", {}, el("option", { value: "" }, t("study.no_answer")), choices.map((choice) => el("option", { value: choice }, choice)))
    : el("input", { type: kind === "number" ? "number" : "text", step: kind === "number" ? "any" : null, maxlength: 500, autocomplete: "off" }));
  const asked = questions.map((question) => ({ ...question, input: field(question) }));
  const answer = ({ kind, input }) => (kind === "number" && input.value !== "" ? Number(input.value) : input.value.trim());
  const node = el("fieldset", { class: "about-you" }, el("legend", {}, t("study.about_you")), el("p", {}, t("study.about_you_why")), asked.map(({ label, input }) => el("label", {}, el("span", { dir: "auto" }, label), input)));
  return { node, answers: () => Object.fromEntries(asked.map((one) => [one.label, answer(one)]).filter(([, given]) => given !== "")) };
};
/* What follows the last answer: where somebody to talk to is. */
export const goodbye = (t, { helplines }) => [el("p", {}, t("study.after")), el("ul", { class: "helplines" }, helplines.map((one) => el("li", { dir: "auto" }, one)))];
