/* The contrast of words with all that is painted under their middle, where that is less than WCAG's AA asks for. */
(targets) => {
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const parsed = (colour) => {
    pen.clearRect(0, 0, 1, 1); pen.fillStyle = "rgb(0 0 0 / 0)"; pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, under) => top.slice(0, 3).map((c, k) => c * top[3] + under[k] * (1 - top[3]));
  const light = (colour) => colour.slice(0, 3).map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((all, c, k) => all + c * [0.2126, 0.7152, 0.0722][k], 0);
  const isDrawn = (node) => node instanceof SVGElement && !["svg", "g", "text", "tspan"].includes(node.tagName);
  const found = [];
  for (const target of targets) {
    const node = document.querySelector(target);
    if (!node) { found.push(`${target} is gone`); continue; }
    node.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
    const { left, top, width, height } = node.getBoundingClientRect(), style = getComputedStyle(node);
    const under = document.elementsFromPoint(left + width / 2, top + height / 2), grounds = [];
    for (const one of under) {
      const its = getComputedStyle(one);
      const colour = isDrawn(one) ? its.fill : its.backgroundColor;
      const stops = its.backgroundImage.match(/(rgba?|oklab|color)[(][^)]*[)]/g);
      const paints = (stops ?? [colour]).filter((paint) => paint !== "none").map(parsed);
      if (isDrawn(one)) paints.forEach((paint) => { paint[3] *= its.fillOpacity * its.opacity; });
      grounds.push(paints);
    }
    const blended = grounds.reverse().reduce((below, paints) => (paints.length ? below.flatMap((b) => paints.map((p) => over(p, b))) : below), [[255, 255, 255]]);
    const ink = parsed(node instanceof SVGElement ? style.fill : style.color);
    const ratio = Math.min(...blended.map((ground) => {
      const [a, b] = [light(over(ink, ground)), light(ground)].sort((x, y) => y - x);
      return (a + 0.05) / (b + 0.05);
    }));
    const size = parseFloat(style.fontSize), needed = size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5;
    if (ratio < needed) found.push(`${target} ${ratio.toFixed(2)} ${node.textContent.trim().slice(0, 30)}`);
  }
  return found;
}
