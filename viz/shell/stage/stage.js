// The keys of the course: they press what is on the page, so that link, history and screen readers know one way only.

const TYPING = "input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable='true'], [role=combobox], [role=listbox], [role=menu], [role=dialog], dialog";
const WALKED = ".atlas, [role=slider], [role=spinbutton], [role=tab], [role=grid], [role=application]";   // arrows and digits mean something there
const STEPPING = ["ArrowRight", "ArrowLeft", "Home", "End"], POINTED = "button, a, [role=radio], [role=slider], [role=switch], input:is([type=checkbox], [type=radio], [type=range])";
const COLOURS = ["--st-background-color", "--st-secondary-background-color", "--st-text-color", "--st-border-color", "--st-primary-color", "--st-heading-font"];
const listening = new WeakMap();
let tabbed = false;   // whether the focus came there by keyboard

const steps = () => [...document.querySelectorAll(".st-key-lesson-steps button")];
const chosen = (buttons) => buttons.findIndex((b) => b.getAttribute("aria-checked") === "true" || b.getAttribute("aria-pressed") === "true");

/** Whether the focused thing has a use of its own for this key. */
function taken(event) {
  const target = event.composedPath()[0];
  if (!(target instanceof Element) || target.closest(".st-key-lesson-steps")) return false;
  if (target.closest(TYPING)) return true;
  if (target.closest(WALKED)) return !["f", "F", "Escape"].includes(event.key);
  if (event.key === " ") return tabbed && target.closest("button, a, summary, input, label, [role=radio], [role=button]") !== null;
  return tabbed && event.key.startsWith("Arrow") && target.closest("[role=radio]") !== null;
}

function leaveBy(name) {
  const link = document.querySelector(`.st-key-lesson-${name} a`);
  if (!link) return false;   // a page of the workspace: the key is its own
  fill(false);
  Object.assign(globalThis.atlasHistory, { leaving: true, touched: false });   // see history.js
  link.click();
  return true;
}

function go(by) {
  const buttons = steps(), to = chosen(buttons) + by;
  return buttons[to] ? press(buttons[to]) : leaveBy(by > 0 ? "next" : "previous");
}

function press(button) {
  fill(false);   // the step has words, too
  if (chosen([button]) < 0) button.click();
  return true;
}

/** On a page whose own buttons have keys (Decode) a control that the mouse used last leaves these keys to them. */
function giveBack(event) {
  const target = event.composedPath()[0];
  if (tabbed || !STEPPING.includes(event.key) || !document.querySelector(".st-key-decode-next") || !(target instanceof Element)) return false;
  if (target === document.body || target.closest(".atlas") || !target.closest(POINTED)) return false;
  target.blur();
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key: event.key, code: event.code, bubbles: true, cancelable: true }));
  return true;
}

/** What a key does on the way through the course; false for a key that has nothing to press here. */
function walk(key) {
  if (key === "ArrowRight" || key === " ") return go(1);
  if (key === "ArrowLeft") return go(-1);
  const step = /^[1-9]$/.test(key) && steps()[key - 1];
  return step ? press(step) : false;
}

/** A button that gives way to another when it is pressed (Play to Stop) leaves it the focus. */
function handOver(event) {
  const button = event.composedPath()[0], row = button instanceof Element && button.matches("button") && button.closest('[data-testid="stHorizontalBlock"]');
  if (!row || !["Enter", " "].includes(event.key)) return;
  const at = [...row.querySelectorAll("button")].indexOf(button);
  const watch = new MutationObserver(() => {
    if (button.isConnected) return;
    watch.disconnect();
    setTimeout(() => { if (document.activeElement === document.body) row.querySelectorAll("button")[at]?.focus(); }, 50);   // when the other is there
  });
  watch.observe(row, { childList: true, subtree: true });
  setTimeout(() => watch.disconnect(), 3000);
}

// ---------------------------------------------------------------- the rail

/** What a finger presses instead of the keys: `does` is [sign, what it does, key, act]; none while the page is not shown to a room. */
function rail(parentElement, does) {
  const place = parentElement.querySelector("[data-stage]");
  place.replaceChildren(...does.map(([sign, words, key, act]) => {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", textContent: sign, title: `${words} (${key})`, onclick: act });
    button.setAttribute("aria-label", words);
    button.setAttribute("aria-keyshortcuts", key);
    return button;
  }));
}

// ---------------------------------------------------------------- listening

export default function ({ parentElement, data, setTriggerValue }) {
  calmHistory();
  const presenting = Boolean(data?.presenting), seen = getComputedStyle(parentElement);
  for (const name of COLOURS) document.documentElement.style.setProperty(name, seen.getPropertyValue(name));   // for stage.css and present.css
  const act = (event) => {
    if (event.key === "Tab") tabbed = true;
    handOver(event);
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (!event.shiftKey && giveBack(event)) { event.preventDefault(); event.stopPropagation(); return; }
    if (taken(event)) return;
    if (event.key === "Escape" && whole()) fill(false);
    else if (event.key === "Escape" && presenting) setTriggerValue("leave", true);
    else if (presenting && (event.key === "f" || event.key === "F")) fill(!whole());
    else if (event.key === "?") parentElement.querySelector("[data-keys]").showModal();
    else if (event.shiftKey) return;
    else if (!walk(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
  };
  const once = (event) => { if (!event.repeat) act(event); };
  const pointed = () => { tabbed = false; };
  for (const stop of listening.get(parentElement) ?? []) stop();
  document.addEventListener("keydown", once, true);
  document.addEventListener("pointerdown", pointed, true);
  if (!presenting) fill(false);
  rail(parentElement, presenting ? [
    ["\u00d7", "Leave Present", "Escape", () => setTriggerValue("leave", true)], ["F", "The picture in the whole window", "F", () => fill(!whole())],
    ...(data.walks ? [["\u2039", "Back", "ArrowLeft", () => go(-1)], ["\u203a", "Next", "ArrowRight", () => go(1)]] : []),
  ] : []);
  const stops = [...(presenting ? [keepScaled(), keepPointed()] : []), keepNamed(), keepShut(), keepFocus(), keepComplete(), () => document.removeEventListener("keydown", once, true), () => document.removeEventListener("pointerdown", pointed, true)];
  listening.set(parentElement, stops);
  return () => stops.forEach((stop) => stop());
}
