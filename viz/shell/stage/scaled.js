// Before a room a page is laid out for 1280 x 720 and enlarged to the window; one that is too high for it is drawn smaller, until it fits or is as small as may be.

const LAID = [1280, 720], LEAST = 0.7, TURNS = 5;   // what a page is laid out for; the smallest type, of the usual; measures that a page which is too high may take

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
    for (let times = usual, turn = 0; turn < TURNS; turn++) {
      root.setProperty("--atlas-room", times.toFixed(4));   // also read by common.js of the instruments
      const over = main.scrollHeight / main.clientHeight;
      if (main.scrollHeight <= main.clientHeight + 1 || times <= LEAST * usual) break;   // browsers round heights
      times = Math.max(LEAST * usual, 0.999 * times / over);
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
