// Before a room a page is laid out for 1280 x 720 and enlarged to the window; one that is too high for it is drawn smaller, until it fits or is as small as may be.
// A picture that lays itself out differently at each size could make its page grow and shrink for ever: a growth that proves too large is undone for good, from the third one on, until a hand moves.

const LAID = [1280, 720], LEAST = 0.7;   // what a page is laid out for; the smallest type, of the usual
const TURNS = 6, NEAR = 0.01;   // sizes that are tried; the share of the window's height that a page may leave free
const LEAST_ASKED = 0.5;   // the same where an own question of the room is above the picture
const LEAST_DIALOG = 0.5;   // the same for a dialogue, whose type is larger
const SHRINKS = 0.75;   // a page that is too high by a share fits at about this power of it: words wrap later, charts keep their width
const REGRETS = 2;   // how often the page may grow too large by itself: what it shows may still be on its way

/** Keeps the page as large as its window, whatever comes and goes on it; gives what ends it. */
function keepScaled() {
  const app = document.querySelector('[data-testid="stApp"]'), main = document.querySelector('[data-testid="stMain"]'), page = document.querySelector(".st-key-atlas-page"), frame = page?.closest('[data-testid="stMainBlockContainer"]'), root = document.documentElement.style;
  if (!main || !frame) return () => {};
  let known = "", asked = 0, subject = "", times = 0, before = 0, regrets = 0, most = Infinity;   // `before`: the scale before the page grew by itself
  const seen = () => [innerWidth, innerHeight, main.scrollHeight, page.offsetHeight, whole()].join();   // a page that became shorter scrolls as little as before
  const enlarge = (by) => root.setProperty("--atlas-room", by.toFixed(4));   // also read by common.js of the instruments
  const isWhole = () => main.scrollHeight <= main.clientHeight + 1;   // browsers round heights
  const now = () => Number(root.getPropertyValue("--atlas-room"));
  const smaller = (by) => by * Math.min(main.clientHeight / main.scrollHeight, 1 - NEAR) ** SHRINKS;
  const begin = () => { before = regrets = 0; most = Infinity; };
  const usual = () => Math.max(1, Math.min(innerWidth / LAID[0], innerHeight / LAID[1]));
  const needed = () => (isWhole() ? frame.offsetHeight : main.scrollHeight);   // pixels of the window's height that the page takes
  /** The largest size up to `top` at which the page fits, about, or `least`; sought from the size that it has. Its height grows with a power of its size. */
  const largest = (least, top) => {
    const room = main.clientHeight;
    let low = least, high = Infinity, next = Math.max(least, Math.min(top, now())), last;   // a size that fits, if any does, and one at which it is too high; `last`: a size that was tried and the height it needs
    for (let turn = 0; turn < TURNS; turn++) {
      if (now() !== next) enlarge(next);
      const whole = isWhole(), height = needed();
      if (whole && (next === top || height > (1 - NEAR) * room)) return next;
      if (whole) low = next;
      else high = next;
      if (high - low < NEAR * low) break;
      const power = last ? Math.log(last.size / next) / Math.log(last.height / height) : SHRINKS;
      last = { size: next, height };
      const guess = next * (((1 - NEAR / 2) * room) / height) ** Math.max(0.4, Math.min(1, power || SHRINKS));
      next = Math.min(top, guess > low && guess < high ? guess : (low + Math.min(high, top)) / 2);   // lines that break elsewhere make steps in it
    }
    enlarge(low);
    return low;
  };
  let dialog = null, laidIn = "";   // the dialogue that is open, and the window that it was last as large as
  /** A dialogue is enlarged with its window, less where it would not be whole: as long as it is open it only becomes smaller. */
  const scaleDialog = () => {
    const open = document.querySelector('[data-testid="stDialog"]'), size = [innerWidth, innerHeight].join();
    if (dialog !== open) {
      dialogs.disconnect();
      if (open) dialogs.observe(open.firstElementChild);
    }
    if (dialog !== open || laidIn !== size) root.setProperty("--atlas-dialog", usual());
    [dialog, laidIn] = [open, size];
    for (let turn = 0; open && turn < TURNS && open.scrollHeight > open.clientHeight + 1; turn++) {
      const now = Number(root.getPropertyValue("--atlas-dialog")), next = Math.max(LEAST_DIALOG * usual(), (now * open.clientHeight) / open.scrollHeight);
      root.setProperty("--atlas-dialog", next.toFixed(4));
    }
  };
  const scale = () => {
    asked = 0;
    if (!page.isConnected) return;   // another page has taken its place, and is about to be followed in its stead
    scaleDialog();
    if (subject !== (subject = [innerWidth, innerHeight, location.href].join())) begin();
    if (seen() === known) return;
    const least = (document.querySelector(".st-key-asked-room") ? LEAST_ASKED : LEAST) * usual(), running = app?.dataset.testScriptState === "running";
    if (running && times) {   // what is still being drawn is kept on the screen by one guess; its size is sought when all of it is there
      if (!isWhole()) enlarge(Math.max(least, smaller(now())));
      known = "";
      return;
    }
    if (before && !isWhole() && ++regrets > REGRETS) most = before;
    const best = largest(least, Math.min(usual(), most));
    [before, times, known] = [best > times ? times : 0, best, seen()];
  };
  const ask = () => { asked ||= requestAnimationFrame(scale); };
  const watch = new ResizeObserver(ask), dialogs = new ResizeObserver(ask), runs = new MutationObserver(ask), hands = ["keydown", "pointerdown", "pointerup"];
  watch.observe(page);
  if (app) runs.observe(app, { attributeFilter: ["data-test-script-state"] });
  addEventListener("resize", ask);
  for (const hand of hands) addEventListener(hand, begin, true);
  ask();
  return () => {
    watch.disconnect();
    dialogs.disconnect();
    runs.disconnect();
    removeEventListener("resize", ask);
    for (const hand of hands) removeEventListener(hand, begin, true);
    cancelAnimationFrame(asked);
    root.removeProperty("--atlas-room");
    root.removeProperty("--atlas-dialog");
  };
}
