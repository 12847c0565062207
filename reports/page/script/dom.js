/* Everything shown is set as text, never as markup: `el` is the only way this page makes elements. */
const el = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") node.className = value;
    else if (name === "style") Object.assign(node.style, value);
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) if (child !== null && child !== undefined) node.append(child);
  return node;
};
const page = JSON.parse(document.getElementById("page-data").textContent);
const ms = (value) => (value === null || value === undefined ? "—" : Math.abs(value) < 1000
  ? `${value.toFixed(0)} ms`.replace("-", "−") : `${(value / 1000).toFixed(2)} s`.replace("-", "−"));
const counted = (n, one, many = one + "s") => `${n} ${n === 1 ? one : many}`;
/* Names and ids are shown isolated, so that right-to-left marks in one cannot reorder its neighbours. */
const said = (text) => el("bdi", {}, text ?? "—");
