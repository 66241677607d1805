// The words of these pages in the reader's language (light_pages.py); in English none.
let words = {};

/** A text in the reader's language, its {names} filled in. */
export const say = (text, values = {}) => (words[text] ?? text).replace(/\{(\w+)\}/g, (hole, name) => values[name] ?? hole);

/** Take the translations, {English: text}, and translate what stands in `root`, once. */
export function learn(given, root) {
  words = given;
  if (!root || !Object.keys(given).length) return;
  const nodes = document.createTreeWalker(root, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
  for (let node = nodes.nextNode(); node; node = nodes.nextNode()) {
    if (node instanceof Text) {
      const text = node.data.trim();
      if (text in given && !node.parentElement.closest("script, style")) node.data = node.data.replace(text, () => say(text));
    } else for (const name of ["title", "aria-label", "placeholder", "alt"]) if (node.getAttribute(name) in given) node.setAttribute(name, say(node.getAttribute(name)));
  }
}
