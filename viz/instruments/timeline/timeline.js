// The written text as tokens one can go back to, and its two curves in time.

import { css, inkOn, keepDrawn, make, percent, ramp, readTheme, speak, swatch, visible } from "../kit/common.js";
import { tellPython } from "../kit/page/linked.js";
import { saveMenu } from "../kit/save/save.js";
import { button, drawing, keepFocus, rove, shell, status } from "../kit/shell.js";
import { paint, under } from "./paint.js";
import { saving } from "./save.js";
import { say } from "../kit/words.js";

export function build(root) {
  const view = shell(root, "timeline", { hover: null });
  view.text = make("p", "text", root);
  view.steps = () => [...view.text.querySelectorAll("button")];
  view.field = make("div", "field", root);
  view.canvas = drawing(view.field);
  view.told = status("p", "told quiet", root);
  view.legend = make("div", "legend quiet", root);
  view.text.onclick = (event) => { const button = event.target.closest("button"); if (button) go(view, Number(button.dataset.step)); };
  view.text.onkeydown = (event) => rove(view, event, view.steps(), { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -Infinity, End: Infinity });
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
  const { header: head } = packet;
  Object.assign(view, { head, packet, theme: readTheme(view.root), hover: null });
  view.title.textContent = head.title;
  const given = make("span", "given");
  given.textContent = visible(head.prompt);
  keepFocus(view, view.steps, () => {
    view.text.replaceChildren(...(head.prompt ? [given] : []), ...head.moments.map((moment, step) => token(view, moment, step)));
    view.field.hidden = view.legend.hidden = head.moments.length < 2;
    legend(view);
    paint(view);
    tell(view);
  });
  Object.assign(view.root.dataset, { steps: head.moments.length, at: head.at, gone: "" });
  saveMenu(view, view.tools, saving(view));
}

/** A token as a button, as dark as it was probable; a space before it stays a space. */
function token(view, moment, step) {
  const made = button(null, "token", visible(moment.token).replace(/^ (?=\S)/, "\u2009")), colour = view.theme.sequential[Math.round(255 * Math.min(1, moment.p))];
  made.dataset.step = step;
  made.style.backgroundColor = css(colour);
  made.style.color = inkOn(colour, view.theme);
  made.tabIndex = step === view.head.at ? 0 : -1;
  made.setAttribute("aria-label", say("Step {n}: {token}, {p}", { n: step + 1, token: visible(moment.token), p: percent(moment.p) }) + (moment.note ? `, ${moment.note}` : ""));
  if (step === view.head.at) made.setAttribute("aria-current", "step");
  made.classList.toggle("forced", moment.note === say("put in by you"));
  return made;
}

function go(view, step) {
  view.root.dataset.gone = step;
  tellPython(view, "go", [step]);
}

function point(view, step) {
  const found = step !== null && view.head.moments[step] ? step : null;
  if (found === view.hover) return;
  view.hover = found;
  view.root.dataset.hover = found ?? "";
  for (const one of view.steps()) one.classList.toggle("pointed", Number(one.dataset.step) === found);
  paint(view);
  tell(view);
}

/** One line about the step under the pointer, or the one that is shown. */
function tell(view) {
  const step = view.hover ?? view.head.at, moment = view.head.moments[step];
  view.told.hidden = !moment;
  if (!moment) return;
  const sentence = moment.entropy === null ? say("Step {n}: {token} had {p}; surprisal {s} bits{note}.") : say("Step {n}: {token} had {p}; surprisal {s} bits, entropy before it {e} bits{note}.");
  speak(view.told, sentence.replace("{note}", moment.note ? "; {why}" : ""), {
    n: step + 1, token: { word: moment.token }, p: percent(moment.p), s: moment.surprise.toFixed(2), e: moment.entropy?.toFixed(2), why: moment.note,
  });
}

function legend(view) {
  view.legend.replaceChildren();
  view.root.style.setProperty("--bars", css(view.theme.sequential[view.theme.dark ? 120 : 110]));
  view.root.style.setProperty("--line", css(view.theme.diverging[40]));
  ramp(view.legend, view.theme.sequential, say("probability 0"), "1");
  swatch(view.legend, "surprise", say("surprisal, bits"));
  if (view.head.moments.some(({ entropy }) => entropy !== null)) swatch(view.legend, "entropy", say("entropy, bits"));
}
