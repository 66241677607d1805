// Before a room a page is laid out for 1280 x 720 and enlarged to the window; one that is too high for it is drawn smaller, until it fits or is as small as may be.
// A picture that lays itself out differently at each size could make its page grow and shrink for ever: a growth that proves too large is undone for good, from the third one on, until a hand moves.

const LAID = [1280, 720], LEAST = 0.7, TURNS = 6;   // what a page is laid out for; the smallest type, of the usual; halvings of what lies between, for a page that is too high
const REGRETS = 2;   // how often the page may grow too large by itself: what it shows may still be on its way

/** Keeps the page as large as its window, whatever comes and goes on it; gives what ends it. */
function keepScaled() {
  const main = document.querySelector('[data-testid="stMain"]'), page = document.querySelector(".st-key-atlas-page"), root = document.documentElement.style;
  if (!main || !page) return () => {};
  let known = "", asked = 0, subject = "", times = 0, before = 0, regrets = 0, most = Infinity;   // `before`: the scale before the page grew by itself
  const seen = () => [innerWidth, innerHeight, main.scrollHeight, page.offsetHeight, whole()].join();   // a page that became shorter scrolls as little as before
  const enlarge = (by) => root.setProperty("--atlas-room", by.toFixed(4));   // also read by common.js of the instruments
  const isWhole = () => main.scrollHeight <= main.clientHeight + 1;   // browsers round heights
  const fits = (by) => { enlarge(by); return isWhole(); };
  const begin = () => { before = regrets = 0; most = Infinity; };
  const scale = () => {
    asked = 0;
    if (subject !== (subject = [innerWidth, innerHeight, location.href].join())) begin();
    if (seen() === known) return;
    if (before && !isWhole() && ++regrets > REGRETS) most = before;
    const usual = Math.max(1, Math.min(innerWidth / LAID[0], innerHeight / LAID[1]));
    let [least, best] = [LEAST * usual, Math.min(usual, most)];
    if (!fits(best)) {
      for (let turn = 0, high = best; turn < TURNS; turn++) {
        best = (least + high) / 2;
        if (fits(best)) least = best; else high = best;
      }
      enlarge(best = least);
    }
    [before, times, known] = [best > times ? times : 0, best, seen()];
  };
  const ask = () => { asked ||= requestAnimationFrame(scale); };
  const watch = new ResizeObserver(ask), hands = ["keydown", "pointerdown", "pointerup"];
  watch.observe(page);
  addEventListener("resize", ask);
  for (const hand of hands) addEventListener(hand, begin, true);
  ask();
  return () => {
    watch.disconnect();
    removeEventListener("resize", ask);
    for (const hand of hands) removeEventListener(hand, begin, true);
    cancelAnimationFrame(asked);
    root.removeProperty("--atlas-room");
  };
}
