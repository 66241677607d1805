// Before a room a page is laid out for 1280 x 720 and enlarged to the window; one that is too high for it is drawn smaller, until it fits or is as small as may be.

const LAID = [1280, 720], LEAST = 0.7, TURNS = 6;   // what a page is laid out for; the smallest type, of the usual; halvings of what lies between, for a page that is too high

/** Keeps the page as large as its window, whatever comes and goes on it; gives what ends it. */
function keepScaled() {
  const main = document.querySelector('[data-testid="stMain"]'), page = document.querySelector(".st-key-atlas-page"), root = document.documentElement.style;
  if (!main || !page) return () => {};
  let known = "", asked = 0;
  const seen = () => [innerWidth, innerHeight, main.scrollHeight, page.offsetHeight, whole()].join();   // a page that became shorter scrolls as little as before
  const scale = () => {
    asked = 0;
    if (seen() === known) return;
    const usual = Math.max(1, Math.min(innerWidth / LAID[0], innerHeight / LAID[1]));
    const enlarge = (times) => root.setProperty("--atlas-room", times.toFixed(4));   // also read by common.js of the instruments
    const fits = (times) => { enlarge(times); return main.scrollHeight <= main.clientHeight + 1; };   // browsers round heights
    if (!fits(usual)) {
      let [least, most] = [LEAST * usual, usual];
      for (let turn = 0; turn < TURNS; turn++) {
        const middle = (least + most) / 2;
        if (fits(middle)) least = middle; else most = middle;
      }
      enlarge(least);
    }
    known = seen();
  };
  const ask = () => { asked ||= requestAnimationFrame(scale); };
  const watch = new ResizeObserver(ask);
  watch.observe(page);
  addEventListener("resize", ask);
  ask();
  return () => { watch.disconnect(); removeEventListener("resize", ask); cancelAnimationFrame(asked); root.removeProperty("--atlas-room"); };
}
