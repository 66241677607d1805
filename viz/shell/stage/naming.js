// What Streamlit leaves without a name or a voice: a fold is called what its line says, the answer to a guess is read out,
// a chart is its name and its table, not each title and mark of the drawing.

const NAMED = "[data-testid=stMarkdownContainer]";

function nameAll() {
  takeHeadings();   // pictures.js
  for (const fold of document.querySelectorAll("details")) {
    const name = fold.querySelector(`summary ${NAMED}`)?.textContent.trim() ?? "";
    if (fold.getAttribute("aria-label") !== name) fold.setAttribute("aria-label", name);
  }
  for (const word of document.querySelectorAll('[class*="st-key-word-"] button')) {
    const open = String(word.querySelector("[data-testid=stIconMaterial]")?.textContent.includes("_up"));
    if (word.getAttribute("aria-expanded") !== open) word.setAttribute("aria-expanded", open);
  }
  for (const box of document.querySelectorAll('[data-testid="stNumberInput"] input[aria-label*="\\\\"]')) {   // its label is Markdown, with a star escaped
    const name = box.closest('[data-testid="stNumberInput"]').querySelector(`label ${NAMED}`)?.textContent.trim();
    if (name && box.getAttribute("aria-label") !== name) box.setAttribute("aria-label", name);
  }
  const opener = document.querySelector('[data-testid="stExpandSidebarButton"]');
  if (opener && opener.ariaLabel !== say("Menu")) opener.dataset.menu = opener.ariaLabel = say("Menu");
  for (const drawing of document.querySelectorAll('[data-testid="stVegaLiteChart"] > svg:not([aria-hidden])')) drawing.setAttribute("aria-hidden", "true");
  for (const asked of document.querySelectorAll('[class*="st-key-asked-"]:not([aria-live])')) {
    asked.setAttribute("aria-live", "polite");
    asked.setAttribute("aria-relevant", "additions");   // what comes, not the numbers of a slider that is moved
  }
}

/** Names what is there and what comes; gives what ends it. */
function keepNamed() {
  let asked = 0;
  const watch = new MutationObserver(() => { asked ||= requestAnimationFrame(() => { asked = 0; nameAll(); }); });
  watch.observe(document.body, { childList: true, subtree: true, attributeFilter: ["aria-label"] });
  nameAll();
  return () => { watch.disconnect(); cancelAnimationFrame(asked); };
}
