// The words of a component in the visitor's language: `speak` translates the texts of its HTML, `say` one of its script (script_words.py).
let words = {};
const english = new WeakMap();
const say = (text, values = {}) => (words[text] ?? text).replace(/\{(\w+)\}/g, (hole, name) => values[name] ?? hole);

function speak(root, given) {
  if (!given && !Object.keys(words).length) return;
  words = given ?? {};
  const nodes = document.createTreeWalker(root, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
  for (let node = nodes.nextNode(); node; node = nodes.nextNode()) {
    const before = english.get(node) ?? (node instanceof Text ? { data: node.data } : Object.fromEntries(["title", "aria-label", "placeholder"].map((name) => [name, node.getAttribute(name)])));
    english.set(node, before);
    if (node instanceof Text) {
      const text = before.data.trim(), now = before.data.replace(text, () => say(text));
      if (text && now !== node.data) node.data = now;
    } else for (const [name, text] of Object.entries(before)) if (text) node.setAttribute(name, say(text));
  }
}
