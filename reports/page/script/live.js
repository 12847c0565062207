/* The progress of a run, asked for again and again; once its report is there, the page loads it in its own place. */
const ASKED_EVERY_MS = 1_500;
const byId = (id) => document.getElementById(id);

const show = (found) => {
  document.title = `${found.done}${found.planned ? ` of ${found.planned}` : ""}: ${document.querySelector("h1").textContent}`;
  if (byId("state").textContent !== found.sentence) byId("state").textContent = found.sentence;
  byId("bar").max = found.planned || 1;
  if (found.planned) byId("bar").value = found.done; else byId("bar").removeAttribute("value");
  byId("next").textContent = found.next_step;
  byId("next").hidden = !found.next_step;
  byId("agents").hidden = !found.agents.length;
  byId("agents").tBodies[0].replaceChildren(...found.agents.map((one) => el(
    "tr", {}, el("th", { scope: "row" }, el("bdi", {}, one.agent), el("small", {}, one.condition)),
    el("td", { class: "n" }, String(one.turns)), el("td", { class: "n" }, `${one.measure} ${one.median}`, el("small", {}, one.interval)),
  )));
};

const ask = async () => {
  try {
    const found = await (await fetch("progress")).json();
    if (found.state === "reported") { location.reload(); return; }
    show(found);
    byId("lost").hidden = true;
  } catch {
    byId("lost").hidden = false;
  }
  setTimeout(ask, ASKED_EVERY_MS);
};
setTimeout(ask, ASKED_EVERY_MS);
