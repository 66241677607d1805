// The keys of the course: they press what is on the page, so that link, history and screen readers know one way only.

const TYPING = "input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable='true'], [role=combobox], [role=listbox], [role=menu], [role=dialog], dialog";
const WALKED = ".atlas, [role=slider], [role=spinbutton], [role=tab], [role=grid], [role=application]";   // arrows and digits mean something there
const STEPPING = ["ArrowRight", "ArrowLeft", "Home", "End"], POINTED = "button, a, [role=radio], [role=slider], [role=switch], input:is([type=checkbox], [type=radio], [type=range])";
const COLOURS = ["--st-background-color", "--st-secondary-background-color", "--st-text-color", "--st-border-color", "--st-primary-color", "--st-heading-font"];
const listening = new WeakMap();
let tabbed = false;   // whether the focus came there by keyboard

const steps = () => [...document.querySelectorAll(".st-key-exhibit-steps button")];
const chosen = (buttons) => buttons.findIndex((b) => b.getAttribute("aria-checked") === "true" || b.getAttribute("aria-pressed") === "true");

/** Whether the focused thing has a use of its own for this key. */
function taken(event) {
  const target = event.composedPath()[0];
  if (!(target instanceof Element) || target.closest(".st-key-exhibit-steps")) return false;
  if (target.closest(TYPING)) return true;
  if (target.closest(WALKED)) return !["f", "F", "Escape"].includes(event.key);
  if (event.key === " ") return tabbed && target.closest("button, a, summary, input, label, [role=radio], [role=button]") !== null;
  return tabbed && event.key.startsWith("Arrow") && target.closest("[role=radio]") !== null;
}

function leaveBy(name) {
  const link = document.querySelector(`.st-key-exhibit-${name} a`);
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

function made(name, traits, ...within) {
  const element = document.createElement(name);
  for (const [trait, value] of Object.entries(traits)) element.setAttribute(trait, value);
  element.append(...within);
  return element;
}

const notes = () => document.querySelector(".lesson-bar:not([hidden]) [data-act=notes]");

/** The menu of Present: each entry is [what it does, key, act, whether it is there]. The browser shuts it by Escape and by a press elsewhere. */
function menu(entries) {
  const list = made("div", { role: "menu", "aria-label": say("Present"), popover: "auto", "data-menu": "" });
  const opener = made("button", { type: "button", title: say("Menu"), "aria-label": say("Menu of Present"), "aria-haspopup": "menu", "aria-expanded": "false" }, "\u22ef");
  opener.popoverTargetElement = list;
  for (const [words, key, act, there = () => true] of entries) {
    const entry = made("button", { type: "button", role: "menuitem", tabindex: "-1", "aria-keyshortcuts": key }, words, made("kbd", { "aria-hidden": "true" }, key === "Escape" ? "Esc" : key));
    entry.onclick = () => { list.hidePopover(); act(); };
    list.addEventListener("beforetoggle", () => { entry.hidden = !there(); });
    list.append(entry);
  }
  const open = () => [...list.children].filter((entry) => !entry.hidden);
  list.addEventListener("toggle", (event) => {
    opener.setAttribute("aria-expanded", String(event.newState === "open"));
    if (event.newState === "open") open()[0]?.focus();
  });
  list.addEventListener("keydown", (event) => {
    const all = open(), at = all.indexOf(document.activeElement), to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
    if (event.key === "Tab") list.hidePopover();
    if (to === undefined) return;
    event.preventDefault();
    all.at(to % all.length)?.focus();
  });
  return [opener, list];
}

/** What a finger presses instead of the keys: the arrows of a page with steps, and the menu; nothing while the page is not shown to a room. */
function rail(parentElement, arrows, entries) {
  parentElement.querySelector("[data-stage]").replaceChildren(
    ...arrows.map(([sign, words, key, act]) => {
      const button = made("button", { type: "button", title: `${words} (${key})`, "aria-label": words, "aria-keyshortcuts": key, "data-arrow": "" }, sign);
      button.onclick = act;
      return button;
    }),
    ...(entries.length ? menu(entries) : []),
  );
}

// ---------------------------------------------------------------- listening

export default function ({ parentElement, data, setStateValue, setTriggerValue }) {
  if (self !== top && !data?.framed) setStateValue("framed", true);   // no control of a lecture room is drawn then
  document.documentElement.lang = data?.lang ?? "en";
  document.documentElement.dir = data?.dir ?? "ltr";
  globalThis.atlasNumbers = data?.numbers;   // for the pictures (common.js)
  speak(parentElement, data?.words);
  globalThis.atlasLink = true;   // a picture on this page has an address (copies.js)
  calmHistory();
  followTranslator();
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
  rail(parentElement, presenting && data.walks ? [["\u2039", say("Back"), "ArrowLeft", () => go(-1)], ["\u203a", say("Next"), "ArrowRight", () => go(1)]] : [], presenting ? [
    [say("The picture in the whole window"), "F", () => fill(!whole())],
    [say("Notes of the lesson"), "", () => notes()?.click(), () => Boolean(notes())],
    [say("The list of keys"), "?", () => parentElement.querySelector("[data-keys]").showModal()],
    [say("Leave Present"), "Escape", () => setTriggerValue("leave", true)],
  ] : []);
  const stops = [...(presenting ? [keepScaled(), keepPointed()] : []), keepNamed(), keepShut(), keepFocus(), keepComplete(), () => document.removeEventListener("keydown", once, true), () => document.removeEventListener("pointerdown", pointed, true)];
  listening.set(parentElement, stops);
  return () => stops.forEach((stop) => stop());
}
