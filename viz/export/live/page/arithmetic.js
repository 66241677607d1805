// The products and functions of a Transformer over Float32Array; rows are positions.

/** y = x W^T + b for `rows` rows: four outputs of two rows at a time, or eight of one, so that each number read is used more than once. */
export function linear(x, rows, { shape: [dOut, dIn], values: w }, bias = null) {
  const y = new Float32Array(rows * dOut), pairs = rows - (rows % 2);
  for (let o = 0; pairs && o < dOut; o += 4) {
    const w0 = o * dIn, w1 = w0 + dIn, w2 = w1 + dIn, w3 = w2 + dIn;
    for (let r = 0; r < pairs; r += 2) {
      let a0 = 0, a1 = 0, a2 = 0, a3 = 0, b0 = 0, b1 = 0, b2 = 0, b3 = 0;
      const xa = r * dIn, xb = xa + dIn, to = r * dOut + o, next = to + dOut;
      for (let i = 0; i < dIn; i++) {
        const u = x[xa + i], v = x[xb + i], p0 = w[w0 + i], p1 = w[w1 + i], p2 = w[w2 + i], p3 = w[w3 + i];
        a0 += u * p0; a1 += u * p1; a2 += u * p2; a3 += u * p3;
        b0 += v * p0; b1 += v * p1; b2 += v * p2; b3 += v * p3;
      }
      y[to] = a0; y[to + 1] = a1; y[to + 2] = a2; y[to + 3] = a3;
      y[next] = b0; y[next + 1] = b1; y[next + 2] = b2; y[next + 3] = b3;
    }
  }
  if (pairs < rows) lastRow(x, pairs * dIn, w, dOut, dIn, y, pairs * dOut);
  if (bias) for (let r = 0, at = 0; r < rows; r++) for (let o = 0; o < dOut; o++, at++) y[at] += bias.values[o];
  return y;
}

/** One row, as each step of a decoder has it. */
function lastRow(x, from, w, dOut, dIn, y, to) {
  const row = Float64Array.from(x.subarray(from, from + dIn));
  for (let o = 0; o < dOut; o += 8) {
    const w0 = o * dIn, w1 = w0 + dIn, w2 = w1 + dIn, w3 = w2 + dIn, w4 = w3 + dIn, w5 = w4 + dIn, w6 = w5 + dIn, w7 = w6 + dIn;
    let a0 = 0, a1 = 0, a2 = 0, a3 = 0, a4 = 0, a5 = 0, a6 = 0, a7 = 0;
    for (let i = 0; i < dIn; i++) {
      const u = row[i];
      a0 += u * w[w0 + i]; a1 += u * w[w1 + i]; a2 += u * w[w2 + i]; a3 += u * w[w3 + i];
      a4 += u * w[w4 + i]; a5 += u * w[w5 + i]; a6 += u * w[w6 + i]; a7 += u * w[w7 + i];
    }
    y.set([a0, a1, a2, a3, a4, a5, a6, a7], to + o);
  }
}

export function add(x, y) {
  const out = new Float32Array(x.length);
  for (let i = 0; i < out.length; i++) out[i] = x[i] + y[i];
  return out;
}

/** Mean 0 and variance 1 of each row, then gain and bias. */
export function layerNorm(x, gain, bias, eps) {
  const width = gain.values.length, out = new Float32Array(x.length);
  for (let at = 0; at < x.length; at += width) {
    let mean = 0, variance = 0;
    for (let i = 0; i < width; i++) mean += x[at + i];
    mean /= width;
    for (let i = 0; i < width; i++) variance += (x[at + i] - mean) ** 2;
    const share = 1 / Math.sqrt(variance / width + eps);
    for (let i = 0; i < width; i++) out[at + i] = (x[at + i] - mean) * share * gain.values[i] + bias.values[i];
  }
  return out;
}

/** The error function, exact to 1.5e-7 (Abramowitz and Stegun 1964, 7.1.26). */
function erf(x) {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const tail = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t * Math.exp(-x * x);
  return x < 0 ? tail - 1 : 1 - tail;
}

export const ACTIVATIONS = {
  relu: (x) => (x > 0 ? x : 0),
  gelu: (x) => 0.5 * x * (1 + erf(x * Math.SQRT1_2)),
  gelu_tanh: (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
};

export function each(x, change) {
  for (let i = 0; i < x.length; i++) x[i] = change(x[i]);
  return x;
}

/** Softmax in place of `length` numbers from `at` on, over those that are allowed; zeros where none is. */
export function softmax(x, at, length, allowed, from) {
  let most = -Infinity, sum = 0;
  for (let i = 0; i < length; i++) if (allowed[from + i] && x[at + i] > most) most = x[at + i];
  for (let i = 0; i < length; i++) sum += x[at + i] = allowed[from + i] ? Math.exp(x[at + i] - most) : 0;
  if (sum) for (let i = 0; i < length; i++) x[at + i] /= sum;
}
