// The written text as tokens one can go back to, and its two curves in time.

import { css, eventId, inkOn, keepDrawn, make, percent, ramp, readTheme, speak, swatch, visible } from "../kit/common.js";
import { saveMenu } from "../kit/save/save.js";
import { paint, under } from "./paint.js";
import { saving } from "./save.js";

export function build(root) {
  root.classList.add("timeline");
  const view = { root, hover: null };
  view.bar = make("div", "head", root);
  view.title = make("div", "title", view.bar);
  view.tools = make("div", "tools", view.bar);
  view.text = make("p", "text", root);
  view.field = make("div", "field", root);
  view.canvas = make("canvas", "", view.field);
  view.canvas.setAttribute("aria-hidden", "true");
  view.told = make("p", "told quiet", root);
  view.told.setAttribute("role", "status");
  view.legend = make("div", "legend quiet", root);
  view.text.onclick = (event) => { const button = event.target.closest("button"); if (button) go(view, Number(button.dataset.step)); };
  view.text.onkeydown = (event) => walk(view, event);
  view.text.onpointerover = (event) => { const button = event.target.closest("button"); point(view, button ? Number(button.dataset.step) : null); };
  view.text.addEventListener("focusin", (event) => point(view, Number(event.target.dataset.step)));   // browsers know no onfocusin
  view.text.addEventListener("focusout", () => point(view, null));
  view.text.onpointerleave = view.field.onpointerleave = () => point(view, null);
  view.field.onpointermove = (event) => point(view, under(view, event));
  view.field.onclick = (event) => { const step = under(view, event); if (step !== null) go(view, step); };
  view.drawn = keepDrawn(root, () => paint(view));
  return view;
}

export function accept(view, packet) {
  const { header: head } = packet, held = view.root.getRootNode().activeElement?.dataset.step;
  Object.assign(view, { head, packet, theme: readTheme(view.root), hover: null });
  view.title.textContent = head.title;
  const given = make("span", "given");
  given.textContent = visible(head.given);
  view.text.replaceChildren(...(head.given ? [given] : []), ...head.moments.map((moment, step) => token(view, moment, step)));
  view.field.hidden = view.legend.hidden = head.moments.length < 2;
  legend(view);
  paint(view);
  tell(view);
  Object.assign(view.root.dataset, { steps: head.moments.length, at: head.at, gone: "" });
  if (held !== undefined) view.text.querySelector(`[data-step="${Math.min(Number(held), head.moments.length - 1)}"]`)?.focus();
  saveMenu(view, view.tools, saving(view));
}

/** A token as a button, as dark as it was probable; a space before it stays a space. */
function token(view, moment, step) {
  const button = make("button", "token"), colour = view.theme.sequential[Math.round(255 * Math.min(1, moment.p))];
  button.type = "button";
  button.dataset.step = step;
  button.textContent = visible(moment.token).replace(/^ (?=\S)/, "\u2009");
  button.style.backgroundColor = css(colour);
  button.style.color = inkOn(colour, view.theme);
  button.tabIndex = step === view.head.at ? 0 : -1;
  button.setAttribute("aria-label", `Step ${step + 1}: ${visible(moment.token)}, ${percent(moment.p)}${moment.why ? `, ${moment.why}` : ""}`);
  if (step === view.head.at) button.setAttribute("aria-current", "step");
  button.classList.toggle("forced", moment.why === "put in by you");
  return button;
}

function go(view, step) {
  view.root.dataset.gone = step;
  view.component.setStateValue("go", { at: [step], id: eventId() });
}

function walk(view, event) {
  const buttons = [...view.text.querySelectorAll("button")], at = buttons.indexOf(view.root.getRootNode().activeElement);
  const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
  if (to === undefined || at < 0) return;
  event.preventDefault();
  event.stopPropagation();
  const next = buttons[Math.max(0, Math.min(to, buttons.length - 1))];
  for (const button of buttons) button.tabIndex = button === next ? 0 : -1;
  next.focus();
}

function point(view, step) {
  const found = step !== null && view.head.moments[step] ? step : null;
  if (found === view.hover) return;
  view.hover = found;
  view.root.dataset.hover = found ?? "";
  for (const button of view.text.querySelectorAll("button")) button.classList.toggle("pointed", Number(button.dataset.step) === found);
  paint(view);
  tell(view);
}

/** One line about the step under the pointer, or the one that is shown. */
function tell(view) {
  const step = view.hover ?? view.head.at, moment = view.head.moments[step];
  view.told.hidden = !moment;
  if (!moment) return;
  const before = moment.entropy === null ? "" : ", entropy before it {e} bits";
  speak(view.told, `Step {n}: {token} had {p}; surprisal {s} bits${before}${moment.why ? "; {why}" : ""}.`, {
    n: step + 1, token: { word: moment.token }, p: percent(moment.p), s: moment.surprise.toFixed(2), e: moment.entropy?.toFixed(2), why: moment.why,
  });
}

function legend(view) {
  view.legend.replaceChildren();
  view.root.style.setProperty("--bars", css(view.theme.sequential[view.theme.dark ? 120 : 110]));
  view.root.style.setProperty("--line", css(view.theme.diverging[40]));
  ramp(view.legend, view.theme.sequential, "probability 0", "1");
  swatch(view.legend, "surprise", "surprisal, bits");
  if (view.head.moments.some(({ entropy }) => entropy !== null)) swatch(view.legend, "entropy", "entropy, bits");
}
