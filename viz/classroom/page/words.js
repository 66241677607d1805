// The words of these pages in the reader's language (light_pages.py, viz/export/site.py); in English none.
let words = {};

/** A text in the reader's language, its {names} filled in. */
export const say = (text, values = {}) => (words[text] ?? text).replace(/\{(\w+)\}/g, (hole, name) => values[name] ?? hole);

/** A constant that is translated where it is used. */
export const mark = (text) => text;

/** A number, written in the English way, with the marks of the reader's language. */
export const writeNumber = (english) => {
  const marks = globalThis.atlasNumbers;
  return marks ? english.replace(/[.,%]/g, (one) => marks[{ ".": "decimal", ",": "group", "%": "percent" }[one]]) : english;
};

/** Take the language that a page brings in its body (viz/export/site.py): words, and how numbers are written, for the pictures, too. */
export function learnPage() {
  const { words: given, numbers } = JSON.parse(document.body.dataset.language);
  learn(given ?? {});
  globalThis.atlasNumbers = numbers;
}

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
