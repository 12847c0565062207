/* What both pages of the listening test do: ask the server until it answers, say what went wrong, show what was said. */
import { el } from "/asset/el.js";
import { wordsIn } from "/asset/words.js";

const words = JSON.parse(document.getElementById("page-words").textContent);
export const t = wordsIn(words);
export const byId = (id) => document.getElementById(id);
export const stage = byId("stage");
export const tell = (text) => { byId("problem").textContent = text ?? ""; byId("problem").hidden = !text; };
export const wait = (ms) => new Promise((done) => setTimeout(done, ms));
const DISK_FULL = 507;
/* A lost server is asked again, with growing patience; an answer sent twice is kept once. One whose disk is full says what to do. */
export const ask = async (path, body) => {
  for (let attempt = 0; ; attempt += 1) {
    try {
      const reply = await fetch(path, body === undefined ? {} : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
      if (reply.status >= 500 && reply.status !== DISK_FULL) throw new Error(String(reply.status));
      tell("");
      const data = reply.ok ? await reply.json() : await reply.json().catch(() => ({}));
      return { ok: reply.ok, status: reply.status, data: reply.ok || data.error ? data : { error: t("invited.not_taken") } };
    } catch {
      tell(t("invited.lost"));
      await wait(Math.min(500 * 2 ** attempt, 8000));
    }
  }
};
export const talk = (history) => el("ol", { class: "talk" }, history.map(([role, text]) => el("li", { class: role, dir: "auto", tabindex: text.length > 1200 ? 0 : null }, el("b", {}, role === "seeker" ? t("shared.the_person") : t("shared.the_listener")), text)));
/* What is typed survives a reload of the page, and nothing else: gone once it was sent, and with the tab. A browser that keeps nothing only forgets. */
export const draft = (key) => ({
  kept: () => { try { return JSON.parse(sessionStorage.getItem(key)) ?? {}; } catch { return {}; } },
  keep: (values) => { try { sessionStorage.setItem(key, JSON.stringify(values)); } catch { /* keeps nothing */ } },
  sent: () => { try { sessionStorage.removeItem(key); } catch { /* kept nothing */ } },
});
/* Where to find somebody to talk to. */
export const help = (sentence) => [el("p", {}, sentence), el("ul", { class: "help" }, words.help.map((line) => el("li", { dir: "auto" }, line)))];
/* The end of what was asked: the study's code and its way back, and the name with which everything can be removed. */
export const ending = ({ code, way_back, name }) => [
  code ? el("div", { class: "card" }, el("p", {}, t("study.code")), el("p", { class: "code" }, code)) : null,
  way_back ? el("p", {}, el("a", { class: "main", href: way_back, rel: "noreferrer" }, t("study.way_back"))) : null,
  name ? el("p", { class: "quiet" }, t("invited.your_name", { name })) : null];
/* The study's questions about the person; each may be left out. `sent` shows what comes next. */
export const aboutYou = (questions, sent) => {
  const field = ({ label, kind, choices }, k) => (kind === "choice"
    ? el("fieldset", {}, el("legend", { dir: "auto" }, label), el("div", { class: "options" }, [...choices, ""].map((choice) => el("label", {}, el("input", { type: "radio", name: `about-${k}`, value: choice, checked: choice === "" }), el("span", { dir: "auto" }, choice || t("study.no_answer"))))))
    : el("p", { class: "field" }, el("label", { for: `about-${k}`, dir: "auto" }, label), el("input", { id: `about-${k}`, name: `about-${k}`, type: "text", inputmode: kind === "number" ? "decimal" : null, maxlength: 500, autocomplete: "off" })));
  const given = (form) => questions.map(({ kind }, k) => {
    const value = form.elements[`about-${k}`].value.trim();
    return kind === "number" && value ? Number(value.replace(",", ".")) : value || null;
  });
  const form = el("form", { novalidate: true, onsubmit: async (event) => {
    event.preventDefault();
    const answers = given(form);
    const wrong = answers.findIndex((answer) => Number.isNaN(answer));
    if (wrong >= 0) { tell(t("study.number_needed")); form.elements[`about-${wrong}`].focus(); return; }
    const { ok, data } = await ask("/about", { answers });
    if (ok) sent(); else tell(data.error);
  } }, el("h1", { tabindex: -1 }, t("study.about_you")), el("p", {}, t("study.about_you_why")), questions.map(field), el("button", { type: "submit", class: "main" }, t("shared.next")));
  stage.replaceChildren(form);
};
