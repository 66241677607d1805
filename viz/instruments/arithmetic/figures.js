// Shown numbers and sentences as figures.py sends them, written letter by letter as Python would write them.

/** Whole numbers from base-128 varints with the sign in the lowest bit. */
export function readNumbers(bytes) {
  const out = [];
  let value = 0, unit = 1;
  for (const byte of bytes ?? []) {
    value += (byte & 127) * unit;
    if (byte & 128) { unit *= 128; continue; }
    out.push(value % 2 ? -(value + 1) / 2 : value / 2);
    value = 0; unit = 1;
  }
  return out;
}

/** Takes whole numbers from a row of them, and shown columns: {texts: [[...] a column], at: places of their names or null}. */
export function taker(numbers) {
  let next = 0;
  const take = () => numbers[next++];
  const columns = () => {
    const decimals = take(), texts = [];
    for (let left = take(); left > 0; left--) {
      const length = take(), count = Math.floor(length / 2), same = length % 2 ? shown(take(), decimals) : null;
      texts.push(Array.from({ length: count }, () => same ?? shown(take(), decimals)));
    }
    const places = take();
    return { texts, at: places ? Array.from({ length: places }, take) : null };
  };
  return { columns };
}

/** So many units of the last decimal as a number: -125 of 2 decimals is -1.25, with a real minus sign. */
function shown(units, decimals) {
  const digits = String(Math.abs(units)).padStart(decimals + 1, "0");
  return (units < 0 ? "\u2212" : "") + (decimals ? `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}` : digits);
}

/** Fills the # of templates, one after the other, with the numbers that were taken out of them. */
export function filler(numbers) {
  let next = 0;
  return (template) => template.replace(/#/g, () => numbers[next++]);
}

/** A form with numbers in it, a piece for each; a negative one gets brackets where its sign would be misread. */
export function formed(form, factors) {
  let [before, ...ends] = form.split("{}");
  return factors.map((factor, i) => {
    const end = ends[i], space = i === factors.length - 1 ? -1 : end.indexOf(" ");
    const left = space < 0 ? end : end.slice(0, space), right = space < 0 ? "" : end.slice(space + 1);
    const misread = factor[0] === "\u2212" && (/ [\u2212+] $/.test(before) || left.startsWith("\u00b2"));
    const piece = before + (misread ? `(${factor})` : factor) + left;
    before = space < 0 ? right : ` ${right}`;
    return piece;
  });
}
