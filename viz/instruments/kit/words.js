// The words of a picture in the visitor's language: they come with its packet (component.py), in English none.

let words = {};

/** Takes the translations, {English: text}, of one instrument: those of others in the page stay, until one is in English. */
export function learn(given) { words = Object.keys(given).length ? { ...words, ...given } : {}; }

/** A text with its {names} filled in; what has no value stays, for `speak` to fill. */
export const fill = (text, values = {}) => text.replace(/\{(\w+)\}/g, (hole, name) => values[name] ?? hole);

export const say = (text, values) => fill(words[text] ?? text, values);

/** A constant that is translated where it is used. */
export const mark = (text) => text;

/** The values of an object translated. */
export const spoken = (texts) => Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, say(text)]));
