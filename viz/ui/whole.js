// The picture in the whole window: enlarged as one piece until a side of the window is full, laid out in what that leaves.

const PICTURES = '[data-testid="stPlotlyChart"], [data-testid="stVegaLiteChart"], [data-testid="stBidiComponentIsolated"], [data-testid="stBidiComponentRegular"]';
const RIM = 48;   // pixels above and below the picture together (present.css)
const TURNS = 50, GROWING = 15, PATIENCE = 6, STILL = 0.015;   // how often it is measured, may grow, is waited for where it is too wide; what is no difference

const full = () => document.querySelector("[data-atlas-full]");
const enlarge = (times) => document.documentElement.style.setProperty("--atlas-full", times);   // also read by common.js of the instruments
const enlarged = () => Number(document.documentElement.style.getPropertyValue("--atlas-full")) || 1;

/** The row that holds the largest picture: pictures that stand side by side belong together. */
function picture() {
  const area = (node) => node.offsetWidth * node.offsetHeight;
  const largest = [...document.querySelectorAll(PICTURES)].filter((node) => area(node) > 40000).sort((a, b) => area(b) - area(a))[0];
  if (!largest) return null;
  const row = largest.closest('[data-testid="stHorizontalBlock"]');
  return row && row.querySelectorAll(PICTURES).length > 1 ? row : largest.closest('[data-testid="stElementContainer"]') ?? largest;
}

function fill(on) {
  const before = full(), chosen = on ? picture() : null;
  if (!before && !chosen) return;
  before?.removeAttribute("data-atlas-full");
  document.documentElement.style.removeProperty("--atlas-full");
  const most = chosen && Math.max(1.5, innerWidth / chosen.offsetWidth);   // never so narrow that its words would touch
  chosen?.setAttribute("data-atlas-full", "");
  window.dispatchEvent(new Event("resize"));
  if (chosen) setTimeout(fit, 200, chosen, most, 1);
}

/** What the picture needs, of what it has: its height in its own pixels, and by how much it is too wide. */
function needed(filled) {
  const tall = [...filled.children].map((child) => child.offsetHeight), row = filled.matches('[data-testid="stHorizontalBlock"]');
  const drawn = (node) => { const chart = node.querySelector(".main-svg, .marks"); return chart ? chart.getBoundingClientRect().width / enlarged() : node.scrollWidth; };
  const wide = [...filled.querySelectorAll(PICTURES)].map((node) => drawn(node) / Math.max(1, node.clientWidth));
  return [Math.max(1, row ? Math.max(...tall) : tall.reduce((sum, one) => sum + one, 0)), Math.max(1, ...wide)];
}

/** Measured until nothing changes any more: what is in it draws itself anew, later, at each other size, and a chart that is too wide only takes its time. */
function fit(filled, most, turn, before = "", same = 0) {
  if (full() !== filled || turn > TURNS) return;
  const now = enlarged(), [tall, over] = needed(filled), measured = `${now} ${tall} ${over}`, wide = over > 1.01;
  same = measured === before ? same + 1 : 0;
  if (same >= (wide ? PATIENCE : 1)) {
    const best = Math.min(most, (innerHeight - RIM) / tall, wide ? now / over : Infinity), next = turn > GROWING ? Math.min(now, best) : best;
    if (Math.abs(next / now - 1) < STILL) return filled.setAttribute("data-atlas-full", "fits");
    enlarge(next);
    window.dispatchEvent(new Event("resize"));
  }
  setTimeout(fit, 200, filled, most, turn + 1, measured, same);
}
