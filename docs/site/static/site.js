// What the theme leaves out for readers who use keys or listen: levels of headings, boxes that scroll.
function reach() {
  for (const box of document.querySelectorAll(".table-wrapper, pre, .cell_output > .output, div.math"))
    if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight) box.tabIndex = 0;
}
addEventListener("DOMContentLoaded", () => {
  for (const caption of document.querySelectorAll("p.caption[role=heading]:not([aria-level])"))
    caption.setAttribute("aria-level", "2");
  reach();
});
addEventListener("resize", reach);
