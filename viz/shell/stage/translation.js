// A browser's translator puts <font> elements in the place of text nodes. React keeps the node it made: it writes new words
// into one that nobody sees, and fails where it is to take it away. So a node that is written to comes back into the page,
// where the translator finds it again, and what is done to it is done to its translation.

function followTranslator() {
  if (globalThis.atlasTranslations) return;
  const translations = (globalThis.atlasTranslations = new WeakMap()), originals = new WeakMap();
  const { removeChild, insertBefore } = Node.prototype;
  /** The translation of a node that is no child of this parent any more, or the node itself. */
  const inPlace = (parent, node) => {
    const translation = node && node.parentNode !== parent ? translations.get(node) : undefined;
    return translation?.parentNode === parent ? translation : node;
  };
  Node.prototype.removeChild = function (child) {
    removeChild.call(this, inPlace(this, child));
    return child;
  };
  Node.prototype.insertBefore = function (node, before) {
    return insertBefore.call(this, node, inPlace(this, before));
  };
  const written = new MutationObserver((records) => {
    for (const { target } of records) if (!target.isConnected) translations.get(target)?.replaceWith(target);
  });
  const isNew = (node) => node?.nodeName === "FONT" && !originals.has(node);
  new MutationObserver((records) => {
    for (const { addedNodes, removedNodes, previousSibling, nextSibling } of records)
      for (const text of removedNodes) {
        const font = text.nodeType === Node.TEXT_NODE && [...addedNodes, previousSibling, nextSibling].find(isNew);
        if (!font) continue;
        translations.set(text, font);
        originals.set(font, text);
        written.observe(text, { characterData: true });
      }
  }).observe(document.body, { childList: true, subtree: true });
}
