/* What both pages of the listening test do: ask the server until it answers, say what went wrong, show what was said. */
import { el } from "/asset/el.js";

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
      return { ok: reply.ok, status: reply.status, data: reply.ok || data.error ? data : { error: "The server did not take that. Please reload the page." } };
    } catch {
      tell("The connection is lost. Your answer is kept on this page and sent again.");
      await wait(Math.min(500 * 2 ** attempt, 8000));
    }
  }
};
export const talk = (history) => el("ol", { class: "talk" }, history.map(([role, text]) => el("li", { class: role, dir: "auto", tabindex: text.length > 1200 ? 0 : null }, el("b", {}, role === "seeker" ? "the person" : "the listener"), text)));
/* What is typed survives a reload of the page, and nothing else: gone once it was sent, and with the tab. A browser that keeps nothing only forgets. */
export const draft = (key) => ({
  kept: () => { try { return JSON.parse(sessionStorage.getItem(key)) ?? {}; } catch { return {}; } },
  keep: (values) => { try { sessionStorage.setItem(key, JSON.stringify(values)); } catch { /* keeps nothing */ } },
  sent: () => { try { sessionStorage.removeItem(key); } catch { /* kept nothing */ } },
});
