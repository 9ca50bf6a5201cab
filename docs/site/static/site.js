// What the theme leaves out for readers who use keys or listen: levels of headings, boxes that scroll;
// and where long names break.
function reach() {
  for (const box of document.querySelectorAll(".table-wrapper, pre, .cell_output > .output, div.math"))
    if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight) box.tabIndex = 0;
}
addEventListener("DOMContentLoaded", () => {
  for (const caption of document.querySelectorAll("p.caption[role=heading]:not([aria-level])"))
    caption.setAttribute("aria-level", "2");
  for (const { firstChild: text } of document.querySelectorAll("article h1, article h2"))
    if (/^deepnlp\.\w/.test(text.data)) // the name of a module breaks behind a dot
      text.replaceWith(...text.data.split(/(?<=\.)/).flatMap((part) => [part, document.createElement("wbr")]));
  reach();
});
addEventListener("resize", reach);
