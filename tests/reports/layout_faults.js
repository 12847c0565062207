/* What a reader would call broken: words that lie on each other, words cut off by what holds them, and drawings that end in mid-word.
   What can be scrolled to is not cut off. Slanted words are held to their drawing alone, since their boxes are larger than they are. */
(drawings, wholePage) => {
  const name = (node) => node.textContent.trim().slice(0, 40);
  /* Half a pixel is no fault: a browser makes each line whole pixels high. */
  const meets = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 0.5
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 0.5;
  const faults = [];
  const apart = (where, words) => {
    words.sort((a, b) => a.box.top - b.box.top);
    words.forEach((one, k) => {
      for (let j = k + 1; j < words.length && words[j].box.top < one.box.bottom; j += 1) {
        if (meets(one.box, words[j].box)) faults.push(`${where}: "${one.said}" meets "${words[j].said}"`);
      }
    });
  };
  let seen = 0;
  for (const svg of document.querySelectorAll(drawings)) {
    if (!svg.checkVisibility()) continue;
    const where = svg.closest("[id]").id, frame = svg.getBoundingClientRect();
    const words = [...svg.querySelectorAll("text")].filter((text) => name(text) && text.getAttribute("opacity") !== "0")
      .map((text) => ({ said: name(text), box: text.getBoundingClientRect(), turn: text.getScreenCTM() }));
    seen += words.length;
    for (const { said, box } of words) {
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1) {
        faults.push(`${where}: "${said}" runs out`);
      }
    }
    apart(where, words.filter(({ turn }) => Math.abs(turn.a * turn.b) < 0.01));
  }
  if (!wholePage) return { faults, seen };
  const held = new Set(["SECTION", "BUTTON", "LI", "LABEL", "TD", "TH", "P", "HEADER", "FOOTER", "DD"]);
  const lines = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, over = node.parentElement;
    if (!node.data.trim() || over.closest("svg, script, style, select, .skip, .unseen, noscript") || !over.checkVisibility()) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      if (rect.width <= 1) continue;
      const inner = rect.height * 0.18; /* Lines of one font may lap over by the room above its capitals. */
      const box = { left: rect.left, right: rect.right, top: rect.top + inner, bottom: rect.bottom - inner };
      let scrolled = false;
      for (let up = over; up && up !== document.body; up = up.parentElement) {
        const { overflowX } = getComputedStyle(up), edge = up.getBoundingClientRect();
        const cuts = overflowX !== "visible" || held.has(up.tagName) || up.parentElement.matches(".lane, .waterfall > div, .verdicts dl");
        scrolled ||= ["auto", "scroll"].includes(overflowX);
        if (!scrolled && cuts && (rect.right > edge.right + 2 || rect.left < edge.left - 2)) {
          faults.push(`"${name(node)}" runs out of ${up.tagName} ${up.className}`);
          break;
        }
        if (overflowX === "visible") continue;
        box.left = Math.max(box.left, edge.left); box.right = Math.min(box.right, edge.right);
        box.top = Math.max(box.top, edge.top); box.bottom = Math.min(box.bottom, edge.bottom);
      }
      if (box.left < box.right && box.top < box.bottom) lines.push({ said: name(node), box });
    }
  }
  apart("page", lines);
  return { faults, seen, lines: lines.length, width: document.documentElement.scrollWidth };
}
