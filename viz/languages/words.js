// The words of pages and components in the visitor's language (script_words.py); in English none. A picture brings its own (instruments/kit/words.js).
let words = {};
const english = new WeakMap();   // what a text or an element said in English

/** A text in the visitor's language, its {names} filled in. */
export const say = (text, values = {}) => (words[text] ?? text).replace(/\{(\w+)\}/g, (hole, name) => values[name] ?? hole);

/** A constant that is translated where it is used. */
export const mark = (text) => text;

/** A number, written in the English way, with the marks of the visitor's language. */
export const writeNumber = (text) => {
  const marks = globalThis.atlasNumbers;
  return marks ? text.replace(/[.,%]/g, (one) => marks[{ ".": "decimal", ",": "group", "%": "percent" }[one]]) : text;
};

/** Take the translations, {English: text}, and translate the texts below `root`, where there is one. */
export function speak(root, given) {
  if (!given && !Object.keys(words).length) return;
  words = given ?? {};
  if (!root) return;
  const nodes = document.createTreeWalker(root, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
  for (let node = nodes.nextNode(); node; node = nodes.nextNode()) {
    const before = english.get(node) ?? (node instanceof Text ? { data: node.data } : Object.fromEntries(["title", "aria-label", "placeholder", "alt"].map((name) => [name, node.getAttribute(name)])));
    english.set(node, before);
    if (node instanceof Text) {
      const text = before.data.trim(), now = before.data.replace(text, () => say(text));
      if (text && now !== node.data) node.data = now;
    } else for (const [name, text] of Object.entries(before)) if (text) node.setAttribute(name, say(text));
  }
}

/** Take the language that a page of its own brings in its body (script_words.page_language): words, and how numbers are written, for the pictures, too. */
export function speakPage(root) {
  const { words: given, numbers } = JSON.parse(document.body.dataset.language);
  globalThis.atlasNumbers = numbers;
  speak(root, given);
}
