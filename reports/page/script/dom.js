/* What the page was made from, and figures as people read them. */
const page = JSON.parse(document.getElementById("page-data").textContent);
const ms = (value) => (value === null || value === undefined ? "—" : Math.abs(value) < 1000
  ? `${value.toFixed(0)} ms`.replace("-", "−") : `${(value / 1000).toFixed(2)} s`.replace("-", "−"));
const grouped = (n) => n.toLocaleString("en");
const counted = (n, one, many = one + "s") => `${grouped(n)} ${n === 1 ? one : many}`;
/* Names and ids are shown isolated, so that right-to-left marks in one cannot reorder its neighbours. */
const said = (text) => el("bdi", {}, text ?? "—");
