/* Paper has no folds and cannot be scrolled: what is folded is opened for it, save conversations that nobody opened, and charts
   that were never seen are drawn. Printing waits for no timer, and drawing needs none: all is there when the event is over. */
addEventListener("beforeprint", () => {
  document.querySelectorAll("#main details:not(.context, [open])").forEach((fold) => { fold.open = true; fold.dataset.forPaper = "yes"; });
  charts.forEach((holder) => { if (holder.dataset.shown !== subset) draw(holder); });
});
addEventListener("afterprint", () => document.querySelectorAll("[data-for-paper]").forEach((fold) => { fold.open = false; delete fold.dataset.forPaper; }));
