/* Paper has no folds and cannot be scrolled: what is folded is opened for it, and charts that were never seen are drawn. What would
   fill it stays folded unless the reader opened it: conversations, every pair of many agents, and the numbers of a drawn chart. Printing waits for no timer, and drawing needs none: all is there when the event is over. */
addEventListener("beforeprint", () => {
  document.querySelectorAll("#main details:not(.context, .preferred, .numbers, [open])").forEach((fold) => { fold.open = true; fold.dataset.forPaper = "yes"; });
  charts.forEach((holder) => { if (holder.dataset.shown !== subset) draw(holder); });
});
addEventListener("afterprint", () => document.querySelectorAll("[data-for-paper]").forEach((fold) => { fold.open = false; delete fold.dataset.forPaper; }));
