// Where the focus goes when what was pressed is answered elsewhere: "leads-to-X" to "landing-X" once that is there (to its text
// box, if it has one), and a question that was answered by keyboard to its verdict. Without this it falls to the page's body.

const LEADS = '[class*="st-key-leads-to-"]', ASKED = '[class*="st-key-asked-"]', WAITS = 20_000, HANDS = ["wheel", "pointerdown", "keydown"], PRESSES = ["click", "keydown"];
const GROWS = 4_000;   // milliseconds in which what stands below a landing still comes, and it is kept in its place
let awaited = null, kept = null;

const nameIn = (element, prefix) => [...element.classList].find((name) => name.startsWith(prefix))?.slice(prefix.length);

/** Notes what was pressed, by pointer or by key: where it leads, and by what. A pill answers to a key without a click. */
function noteLeading(event) {
  if (event.type === "keydown" && event.key !== "Enter" && event.key !== " ") return;
  const target = event.target instanceof Element ? event.target : null, button = target?.closest("button, [role=radio], [role=slider]");
  const leads = button?.closest(LEADS), asked = event.detail === 0 && button?.closest(ASKED);   // a click without a pointer is the keyboard's
  if (leads) awaited = { place: `.st-key-landing-${nameIn(leads, "st-key-leads-to-")}`, until: performance.now() + WAITS };
  else if (asked) awaited = { place: `.st-key-answer-${nameIn(asked, "st-key-asked-")}`, until: performance.now() + WAITS };
  else awaited = null;
  land();
}

/** Goes there, if it is there. */
function land() {
  if (kept && performance.now() < kept.until) kept.place.scrollIntoView({ block: "start", behavior: "instant" });
  const place = awaited && performance.now() < awaited.until ? document.querySelector(awaited.place) : null;
  if (!place) return;
  awaited = null;
  kept = null;
  const box = place.querySelector('[data-testid="stTextInput"] input'), stop = box && place.matches(".st-key-landing-box") ? box : place;
  if (stop === place) place.tabIndex = -1;
  stop.focus({ preventScroll: true });
  if (stop === box) return box.select();
  if (place.className.includes("st-key-landing-")) {
    kept = { place, until: performance.now() + GROWS };
    place.scrollIntoView({ block: "start", behavior: "instant" });
  } else place.scrollIntoView({ block: "nearest", behavior: "instant" });
}

/** Follows what is pressed; gives what ends it. */
function keepFocus() {
  const watch = new MutationObserver(land), letGo = () => { kept = null; };
  for (const hand of HANDS) addEventListener(hand, letGo, { capture: true, passive: true });
  for (const press of PRESSES) document.addEventListener(press, noteLeading, true);
  watch.observe(document.body, { childList: true, subtree: true });
  return () => { watch.disconnect(); for (const hand of HANDS) removeEventListener(hand, letGo, { capture: true }); for (const press of PRESSES) document.removeEventListener(press, noteLeading, true); };
}
