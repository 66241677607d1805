// A model that is ready to run: texts to patterns and predictions, or to a sentence that says why not.

import { mark } from "../../../languages/words.js";
import { decoder, encode, hidden, logits, read, recorder } from "./networks.js";
import { tokenizer } from "./tokenize.js";
import { unpack } from "./weights.js";

const LONGEST = 20000, WRITES = 64, BEST = 5;   // letters of a text; tokens that a translator writes to a short text; predictions

/** What is wrong with a text in one sentence each: what it is, the rule, what to do. The page words them: the worker knows no language. */
class Refusal extends Error {}
const refuse = (sentences, values = {}) => { throw Object.assign(new Refusal(sentences[0]), { sentences, values }); };

function check(text) {
  if (!text.trim()) refuse([mark("The text is empty."), mark("A model reads at least one word."), mark("Type a sentence.")]);
  const letters = [...text].length, lone = [...text].findIndex((letter) => !letter.isWellFormed());
  if (letters > LONGEST) refuse([mark("The text has {n} letters."), mark("At most {most} are read."), mark("Shorten it.")], { n: letters, most: LONGEST });
  if (lone >= 0) refuse([mark("Character {n} is half of a character."), mark("Text must be valid Unicode."), mark("Delete that character or type it again.")], { n: lone + 1 });
}

/** The most probable tokens after a softmax of `count` logits from `at` on: [token, probability]. */
function best(words, scores, at, count, most = BEST) {
  let top = -Infinity, sum = 0;
  for (let i = 0; i < count; i++) top = Math.max(top, scores[at + i]);
  for (let i = 0; i < count; i++) sum += Math.exp(scores[at + i] - top);
  const found = [];
  for (let i = 0; i < count; i++) {
    if (found.length === most && scores[at + i] <= scores[at + found[most - 1]]) continue;
    let place = found.findIndex((one) => scores[at + one] < scores[at + i]);
    if (place < 0) place = found.length;
    found.splice(place, 0, i);
    found.length = Math.min(found.length, most);
  }
  return found.map((id) => ({ id, token: words.token(id), probability: Math.exp(scores[at + id] - top) / sum }));
}

/** One kind of attention of a run: {kind, shape, weights, allowed, queries, keys, special}. */
function attention(record, kind, queries, keys) {
  const layers = record.patterns[kind], [heads, rows, cols] = record.shapes[kind], size = heads * rows * cols, weights = new Float32Array(layers.length * size);
  layers.forEach((layer, l) => weights.set(layer, l * size));
  return { kind, shape: [layers.length, heads, rows, cols], weights, allowed: record.masks[kind], queries: queries.names, keys: keys.names, special: [queries.special, keys.special] };
}

/** The steps of a decoder, one row each, as the patterns of the whole text. */
function gathered(steps, kind) {
  const rows = steps.length, cols = steps.at(-1).shapes[kind][2], [heads] = steps[0].shapes[kind], whole = recorder();
  whole.patterns[kind] = steps[0].patterns[kind].map((_, l) => {
    const out = new Float32Array(heads * rows * cols);
    steps.forEach(({ patterns, shapes }, r) => { const own = shapes[kind][2]; for (let h = 0; h < heads; h++) out.set(patterns[kind][l].subarray(h * own, (h + 1) * own), (h * rows + r) * cols); });
    return out;
  });
  whole.masks[kind] = new Uint8Array(rows * cols);
  steps.forEach(({ masks }, r) => whole.masks[kind].set(masks[kind], r * cols));
  whole.shapes[kind] = [heads, rows, cols];
  return whole;
}

/** {encode(text), run(text, edits)} of the file of a model. */
export async function engine(bytes) {
  const model = await unpack(bytes), { config, ids: marks, name } = model, words = tokenizer(model.tokenizer);
  const named = (ids, first = "", last = "") => {
    const names = [...(first ? [first] : []), ...ids.map(words.token), ...(last ? [last] : [])];
    return { names, special: [...(first ? [0] : []), ...(last ? [names.length - 1] : [])] };
  };

  function idsOf(text) {
    check(text);
    const ids = words.encode(text), all = model.family === "bert" ? [marks.start, ...ids, marks.end] : ids;
    if (all.length > config.n_ctx) refuse([mark("The text has {n} tokens."), mark("{model} reads at most {most} at once."), mark("Shorten the text.")], { n: all.length, model: name, most: config.n_ctx });
    return all;
  }

  function translated(source, edits) {
    const record = recorder(edits), memory = encode(model, source, record), state = decoder(model, memory, source.length), steps = [], written = [];
    const most = Math.min(config.n_ctx - 1, 3 * source.length + 10, Math.max(WRITES, Math.floor((3 * source.length) / 2)));
    for (let last = marks.start; ;) {
      const step = recorder(edits), states = read(model, state, [last], step);
      steps.push(step);
      if (written.length === most) break;
      [{ id: last }] = best(words, logits(model, states, 1), 0, config.n_vocab, 1);
      if (last === marks.end) break;
      written.push(last);
    }
    const reads = named(source), own = named(written, "START"), writes = named(written, "", "END");
    return {
      attentions: [attention(record, "self", reads, reads), attention(gathered(steps, "causal"), "causal", own, own), attention(gathered(steps, "cross"), "cross", writes, reads)],
      written: words.decode(written),
    };
  }

  function predicted(ids, edits) {
    const record = recorder(edits), states = hidden(model, ids, record), width = config.d_model, bert = model.family === "bert";
    const places = bert ? ids.flatMap((id, place) => (id === marks.mask ? [place] : [])) : [ids.length - 1];
    const scores = logits(model, Float32Array.from(places.flatMap((place) => [...states.subarray(place * width, (place + 1) * width)])), places.length);
    const reads = bert ? named(ids.slice(1, -1), words.token(marks.start), words.token(marks.end)) : named(ids);
    return {
      attentions: [attention(record, bert ? "self" : "causal", reads, reads)],
      predictions: places.map((place, i) => ({ place, best: best(words, scores, i * config.n_vocab, config.n_vocab) })),
    };
  }

  return {
    name,
    encode: (text) => words.encode(text),
    /** {attentions, written or predictions, ids, ms}, or {refused: sentences, values}. */
    run(text, edits = {}) {
      const began = performance.now();
      try {
        const ids = idsOf(text), found = model.family === "transformer" ? translated(ids, edits) : predicted(ids, edits);
        return { ...found, ids, ms: performance.now() - began };
      } catch (error) {
        if (error instanceof Refusal) return { refused: error.sentences, values: error.values };
        throw error;
      }
    },
  };
}
