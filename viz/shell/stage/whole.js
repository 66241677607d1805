// The picture in the whole window: enlarged as one piece until a side of the window is full, laid out in what that leaves.

const PICTURES = ':is([data-testid="stPlotlyChart"], [data-testid="stVegaLiteChart"], [data-testid="stBidiComponentIsolated"], [data-testid="stBidiComponentRegular"]):not(.st-key-atlas-room *)';
const RIM = 48;   // pixels above and below the picture together (present.css)
const GLANCE = 200, PATIENCE = 6, GROWTHS = 4, STILL = 0.015;   // milliseconds between two measures; measures a chart that is too wide may take; how often it may grow; what is no difference
let wanted;   // the timer of the next measure, as long as the whole window is wanted

const full = () => document.querySelector("[data-atlas-full]");
const enlarge = (times) => document.documentElement.style.setProperty("--atlas-full", times);   // also read by common.js of the instruments
const enlarged = () => Number(document.documentElement.style.getPropertyValue("--atlas-full")) || 1;
const redraw = () => window.dispatchEvent(new Event("resize"));
const whole = () => wanted !== undefined;

/** The row that holds the largest picture: pictures that stand side by side belong together. */
function picture() {
  const area = (node) => node.offsetWidth * node.offsetHeight;
  const largest = [...document.querySelectorAll(PICTURES)].filter((node) => area(node) > 40000).sort((a, b) => area(b) - area(a))[0];
  if (!largest) return null;
  const row = largest.closest('[data-testid="stHorizontalBlock"]');
  return row && row.querySelectorAll(PICTURES).length > 1 ? row : largest.closest('[data-testid="stElementContainer"]') ?? largest;
}

function fill(on) {
  if (!on && !whole()) return;
  clearTimeout(wanted);
  full()?.removeAttribute("data-atlas-full");
  document.documentElement.style.removeProperty("--atlas-full");
  wanted = on ? setTimeout(choose) : undefined;
  redraw();
}

/** Wait for a picture: the key may be pressed before one is drawn, and a page that is drawn anew may take one away. */
function choose() {
  const chosen = picture();
  if (!chosen) return void (wanted = setTimeout(choose, GLANCE));
  const before = chosen.offsetWidth;
  chosen.setAttribute("data-atlas-full", "");
  redraw();
  wanted = setTimeout(fit, GLANCE, chosen, before);
}

/** What the picture needs, of what it has: its height in its own pixels, and by how much it is too wide. */
function needed(filled) {
  const tall = [...filled.children].map((child) => child.offsetHeight), row = filled.matches('[data-testid="stHorizontalBlock"]');
  const drawn = (node) => { const chart = node.querySelector(".main-svg, .marks"); return chart ? chart.getBoundingClientRect().width / enlarged() : node.scrollWidth; };
  const wide = [...filled.querySelectorAll(PICTURES)].map((node) => drawn(node) / Math.max(1, node.clientWidth));
  return [Math.max(1, row ? Math.max(...tall) : tall.reduce((sum, one) => sum + one, 0)), Math.max(1, ...wide)];
}

/** Measured as long as it stands there: what is in it draws itself anew, later, at each other size, and a chart that is too wide only takes its time. */
function fit(filled, width, before = "", same = 0, growths = GROWTHS) {
  if (full() !== filled) return fill(true);
  const now = enlarged(), [tall, over] = needed(filled), measured = `${innerWidth} ${innerHeight} ${now} ${tall} ${over}`, wide = over > 1.01;
  same = measured === before ? same + 1 : 0;
  if (same === (wide ? PATIENCE : 1)) {
    const most = Math.max(1.5, innerWidth / width);   // never so narrow that its words would touch
    const best = Math.min(most, (innerHeight - RIM) / tall, wide ? now / over : Infinity), grows = best > now;
    if (Math.abs(best / now - 1) < STILL || (grows && !growths)) filled.setAttribute("data-atlas-full", "fits");
    else {
      growths -= grows;
      filled.setAttribute("data-atlas-full", "");
      enlarge(best);
      redraw();
    }
  }
  wanted = setTimeout(fit, GLANCE, filled, width, measured, same, growths);
}
