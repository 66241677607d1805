// The three families as forward passes; their blocks are those of core/models/gpt.py, bert.py and transformer.py.

import { ACTIVATIONS, add, each, layerNorm, linear, softmax } from "./arithmetic.js";

/** What is recorded of a run and changed in it: patterns and masks by kind, `edits` {zero: [{kind, layer, head}], masks: {kind: cells}}. */
export function recorder(edits = {}) {
  return { patterns: {}, masks: {}, shapes: {}, zero: edits.zero ?? [], own: edits.masks ?? {} };
}

const part = (weights, path) => (name) => weights[`${path}.${name}`];

/** All cells, or those up to the query's own position (the queries are the last of the keys). */
function maskOf(kind, rows, cols, past) {
  const cells = new Uint8Array(rows * cols);
  for (let q = 0; q < rows; q++) cells.fill(1, q * cols, kind === "causal" ? q * cols + past + q + 1 : (q + 1) * cols);
  return cells;
}

/** Attention of `kind` in one layer: `x` (queries) looks at `keys` and `values`, which are projected already. */
function attend(get, x, rows, keys, values, cols, heads, kind, layer, record, past = 0) {
  const q = linear(x, rows, get("to_q.weight"), get("to_q.bias")), width = q.length / rows, size = width / heads, scale = Math.sqrt(size);
  const allowed = record.own[kind] ?? maskOf(kind, rows, cols, past), pattern = new Float32Array(heads * rows * cols), mixed = new Float32Array(rows * width);
  for (let h = 0; h < heads; h++) {
    const off = record.zero.some((one) => one.kind === kind && one.layer === layer && one.head === h);
    for (let r = 0; r < rows; r++) {
      const at = (h * rows + r) * cols, from = r * width + h * size;
      for (let c = 0; c < cols; c++) {
        let sum = 0;
        for (let i = 0, k = c * width + h * size; i < size; i++) sum += q[from + i] * keys[k + i];
        pattern[at + c] = sum / scale;
      }
      softmax(pattern, at, cols, allowed, r * cols);
      if (off) continue;
      for (let c = 0; c < cols; c++) {
        const weight = pattern[at + c];
        if (weight) for (let i = 0, v = c * width + h * size; i < size; i++) mixed[from + i] += weight * values[v + i];
      }
    }
  }
  (record.patterns[kind] ??= [])[layer] = pattern;
  record.masks[kind] = allowed;
  record.shapes[kind] = [heads, rows, cols];
  return linear(mixed, rows, get("to_out.weight"), get("to_out.bias"));
}

function keysValues(get, source, rows) {
  return [linear(source, rows, get("to_k.weight"), get("to_k.bias")), linear(source, rows, get("to_v.weight"), get("to_v.bias"))];
}

function selfAttend(get, x, rows, ...rest) {
  return attend(get, x, rows, ...keysValues(get, x, rows), rows, ...rest);
}

function feedForward(get, x, rows, activation) {
  return linear(each(linear(x, rows, get("to_hidden.weight"), get("to_hidden.bias")), ACTIVATIONS[activation]), rows, get("to_out.weight"), get("to_out.bias"));
}

const norm = (weights, path, x, eps) => layerNorm(x, weights[`${path}.weight`], weights[`${path}.bias`], eps);

/** The rows of a table, times `scale`. */
function rowsOf({ shape: [, width], values }, ids, scale = 1) {
  const out = new Float32Array(ids.length * width);
  ids.forEach((id, r) => { for (let i = 0; i < width; i++) out[r * width + i] = values[id * width + i] * scale; });
  return out;
}

/** x + sublayer(norm(x)), twice: GPT-2's block, and the encoder's of the translator. */
function preNormBlock({ weights, config }, path, x, rows, kind, layer, record) {
  const { n_heads: heads, eps, activation } = config;
  const read = norm(weights, `${path}.norm1`, x, eps), middle = add(x, selfAttend(part(weights, `${path}.self_attn`), read, rows, heads, kind, layer, record));
  return add(middle, feedForward(part(weights, `${path}.ffn`), norm(weights, `${path}.norm2`, middle, eps), rows, activation));
}

/** The hidden states of GPT after its last norm. */
function gpt(model, ids, record) {
  const { weights, config } = model, rows = ids.length;
  let x = add(rowsOf(weights["embed.token.weight"], ids), rowsOf(weights["embed.position.weight"], ids.map((_, i) => i)));
  for (let l = 0; l < config.n_layers; l++) x = preNormBlock(model, `layers.${l}`, x, rows, "causal", l, record);
  return norm(weights, "final_norm", x, config.eps);
}

/** The hidden states of BERT: norm(x + sublayer(x)) in each block. */
function bert({ weights, config }, ids, record) {
  const rows = ids.length, { n_heads: heads, eps, activation } = config;
  const places = rowsOf(weights["embed.position.weight"], ids.map((_, i) => i)), segments = rowsOf(weights["embed.segment.weight"], ids.map(() => 0));
  let x = norm(weights, "embed.norm", add(add(rowsOf(weights["embed.token.weight"], ids), segments), places), eps);
  for (let l = 0; l < config.n_layers; l++) {
    const path = `layers.${l}`;
    x = norm(weights, `${path}.norm1`, add(x, selfAttend(part(weights, `${path}.self_attn`), x, rows, heads, "self", l, record)), eps);
    x = norm(weights, `${path}.norm2`, add(x, feedForward(part(weights, `${path}.ffn`), x, rows, activation)), eps);
  }
  return x;
}

/** Sines and cosines of the positions from `first` on. */
function sinusoids(rows, width, first) {
  const out = new Float32Array(rows * width);
  for (let r = 0; r < rows; r++) for (let i = 0; i < width; i++) {
    const angle = (first + r) * 10000 ** (-(i - (i % 2)) / width);
    out[r * width + i] = i % 2 ? Math.cos(angle) : Math.sin(angle);
  }
  return out;
}

function placed({ weights, config: { d_model: width } }, ids, first = 0) {
  return add(rowsOf(weights["embed.token.weight"], ids, Math.sqrt(width)), sinusoids(ids.length, width, first));
}

/** The memory of the translator's encoder. */
export function encode(model, source, record) {
  const { weights, config } = model;
  let x = placed(model, source);
  for (let l = 0; l < config.n_layers; l++) x = preNormBlock(model, `encoder.${l}`, x, source.length, "self", l, record);
  return norm(weights, "encoder_norm", x, config.eps);
}

/** A decoder that has read nothing: the keys and values of the memory once a layer, those of its own text as it grows. */
export function decoder({ weights, config }, memory, sourceLength) {
  const layers = Array.from({ length: config.n_decoder_layers || config.n_layers }, (_, l) => ({
    cross: keysValues(part(weights, `decoder.${l}.cross_attn`), memory, sourceLength), keys: new Float32Array(0), values: new Float32Array(0),
  }));
  return { layers, sourceLength, past: 0 };
}

const joined = (a, b) => { const out = new Float32Array(a.length + b.length); out.set(a); out.set(b, a.length); return out; };

/** The hidden states of further ids of the text that is written, as the state's text goes on. */
export function read(model, state, ids, record) {
  const { weights, config } = model, { n_heads: heads, eps, activation } = config, rows = ids.length, { past, sourceLength } = state;
  let x = placed(model, ids, past);
  state.layers.forEach((kept, l) => {
    const path = `decoder.${l}`, own = part(weights, `${path}.self_attn`), y = norm(weights, `${path}.norm1`, x, eps), [k, v] = keysValues(own, y, rows);
    kept.keys = joined(kept.keys, k);
    kept.values = joined(kept.values, v);
    x = add(x, attend(own, y, rows, kept.keys, kept.values, past + rows, heads, "causal", l, record, past));
    x = add(x, attend(part(weights, `${path}.cross_attn`), norm(weights, `${path}.norm2`, x, eps), rows, ...kept.cross, sourceLength, heads, "cross", l, record));
    x = add(x, feedForward(part(weights, `${path}.ffn`), norm(weights, `${path}.norm3`, x, eps), rows, activation));
  });
  state.past += rows;
  return norm(weights, "decoder_norm", x, eps);
}

/** The hidden states of one text, of a model without a source. */
export const hidden = (model, ids, record) => (model.family === "gpt" ? gpt : bert)(model, ids, record);

/** The logits of `rows` hidden states. */
export function logits({ family, weights, config }, states, rows) {
  const table = weights["embed.token.weight"];
  if (family !== "bert") return linear(states, rows, table);
  const changed = each(linear(states, rows, weights["masked_lm.to_hidden.weight"], weights["masked_lm.to_hidden.bias"]), ACTIVATIONS[config.activation]);
  return linear(norm(weights, "masked_lm.norm", changed, config.eps), rows, table, weights["masked_lm.bias"]);
}
