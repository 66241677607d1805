// What runs the models: in a worker, or in the page itself where the browser allows no worker.

import { engine } from "./engine.js";
import { bytesOf, unescaped } from "./weights.js";

const opened = new Map();

/** Open a model, `content` being its script as bytes or what that script held; or run a text through it. */
async function answer({ name, content, text, edits }) {
  if (content) opened.set(name, engine(typeof content === "string" ? bytesOf(content) : unescaped(new Uint8Array(content))));
  const model = await opened.get(name);
  return text === undefined ? {} : model.run(text, edits);
}

if (globalThis.document) globalThis.liveAnswer = answer;
else {
  globalThis.onmessage = async ({ data: { id, ...asked } }) => {
    try { globalThis.postMessage({ id, ...(await answer(asked)) }); } catch (error) { globalThis.postMessage({ id, failed: String(error) }); }
  };
}
