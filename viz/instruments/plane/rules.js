// Scores of vectors in the plane, their softmax and the mix: the arithmetic of viz/course/look_up/retrieval/look_up.py once more, for every frame of a drag.

const dot = (a, b) => a.reduce((sum, v, i) => sum + v * b[i], 0);
const size = (a) => Math.hypot(...a);

const RULES = {
  dot: (q, k) => dot(q, k),
  scaled: (q, k) => dot(q, k) / Math.sqrt(q.length),
  cosine: (q, k) => { const long = size(q) * size(k); return long > 0 ? dot(q, k) / long : 0; },
  general: (q, k, { w }) => dot(q, w.map((row) => dot(row, k))),
  linear: (q, k, score) => dot(score.q, q) + dot(score.k, k),
  additive: (q, k, { w, v }) => dot(v, w.map((row) => Math.tanh(dot(row, [...q, ...k])))),
  location: (q, k, { w }, i) => dot(w[i], q),
};

function softmax(scores, sharpness) {
  const sharp = scores.map((s) => s * sharpness), top = Math.max(...sharp), raised = sharp.map((s) => Math.exp(s - top));
  const total = raised.reduce((sum, v) => sum + v, 0);
  return raised.map((v) => v / total);
}

/** {scores, weights} of one query over the keys. */
export function attend(query, keys, score) {
  const scores = keys.map((key, i) => RULES[score.rule](query, key, score, i));
  return { scores, weights: softmax(scores, score.sharpness) };
}

/** The weighted sum of rows of equal length. */
export const mixture = (weights, rows) => (rows[0] ?? []).map((_, c) => rows.reduce((sum, row, i) => sum + weights[i] * row[c], 0));

/** Corners of the smallest convex shape around the points, in order around it (Andrew's monotone chain). */
export function hull(points) {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]), half = (row) => {
    const out = [];
    for (const p of row) {
      while (out.length > 1 && (out.at(-1)[0] - out.at(-2)[0]) * (p[1] - out.at(-2)[1]) <= (out.at(-1)[1] - out.at(-2)[1]) * (p[0] - out.at(-2)[0])) out.pop();
      out.push(p);
    }
    return out.slice(0, -1);
  };
  return sorted.length < 3 ? sorted : [...half(sorted), ...half(sorted.reverse())];
}

/** All that is told of the points: for each query the first; `shown` is the score whose weights are drawn. */
export function solve({ head, points, values }) {
  const at = (role) => head.points.flatMap((point, i) => (point.role === role ? [points[i]] : []));
  if (head.task === "sum") return sums(head, points);
  const [query] = at("query"), keys = at("key"), every = head.scores.map((score) => attend(query, keys, score));
  const { weights } = every[head.drawn_score];
  return { query, keys, every, weights, mix: mixture(weights, values.length ? values : keys) };
}

/** plus - minus, and every other word by its distance from there, the nearest first. */
function sums({ plus, minus }, points) {
  const sign = (i) => plus.filter((k) => k === i).length - minus.filter((k) => k === i).length;
  const target = [0, 1].map((c) => points.reduce((sum, p, i) => sum + sign(i) * p[c], 0));
  const others = points.map((p, i) => [i, Math.hypot(p[0] - target[0], p[1] - target[1])]).filter(([i]) => !plus.includes(i) && !minus.includes(i));
  return { target, order: others.sort((a, b) => a[1] - b[1] || a[0] - b[0]) };
}

export const keyNames = (head) => head.points.filter(({ role }) => role === "key").map(({ name }) => name);
export const decimal2 = (v, n = 2) => v.toFixed(n).replace(/^-(0\.?0*)$/, "$1").replace("-", "\u2212");
