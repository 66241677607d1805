// What linked views say to each other: where the pointer is, which head was chosen.

import { eventId } from "../common.js";

const HOVER = "attention-atlas-hover";
export const TURN = "attention-atlas-turn";
export const WORD = "attention-atlas-word";

/** The pointer of `view` is at {query, key} (either may be missing) or nowhere (null): tell the views of its group. */
export function pointOthers(view, at, what = HOVER) {
  if (view.group) document.dispatchEvent(new CustomEvent(what, { detail: { group: view.group, from: view.root, at } }));
}

/** Python hears of a choice; until its packet echoes the id, older answers say nothing of what is chosen. */
export function tellPython(view, name, at) {
  view.sent = eventId();
  view.component.setStateValue(name, { at, id: view.sent });
}

/** A notebook hears what was touched, {query: 3} or {key: 1}; the app asks for no more than it shows. */
export const tellTouched = (view, { side, index }) => view.component?.touch?.({ [side]: index });

/** Calls `react(at)` when the pointer of another view of the same group moves; returns what stops it. */
export function hear(view, react, what = HOVER) {
  const voice = (how) => view.root.querySelectorAll('[role="status"]').forEach((live) => live.setAttribute("aria-live", how));
  const speak = () => voice("polite");
  const listen = ({ detail }) => {
    if (!view.group || detail.group !== view.group || detail.from === view.root) return;
    voice("off");   // one change is told once, by the view that is touched
    react(detail.at);
  };
  document.addEventListener(what, listen);
  view.root.addEventListener("focusin", speak);
  return () => { document.removeEventListener(what, listen); view.root.removeEventListener("focusin", speak); };
}
