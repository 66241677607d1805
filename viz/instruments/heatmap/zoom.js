// Larger and smaller cells by wheel, by two fingers and by key; labels and rim stay where they are.

import { spotOn } from "../kit/common.js";
import { zoom } from "../kit/matrix/matrix.js";
import { LARGEST, xOf, yOf } from "../kit/matrix/places.js";

/**
 * Ctrl and wheel (a trackpad's pinch sends the same) zooms over the cells; the wheel alone only while the frame has
 * the focus and there is something to gain, so that a page scrolls as everywhere else.
 */
export function zoomable(view) {
  const over = ([x, y]) => x >= view.left && x < view.edgeX && y >= view.top && y < view.edgeY;
  const gains = (factor) => (factor > 1 ? view.unit < LARGEST : view.zoom > 1);
  view.pane.addEventListener("wheel", (event) => {
    const at = spotOn(view.pane, event), factor = Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.002));
    const focused = view.frame.getRootNode().activeElement === view.frame;
    if (!view.unit || !over(at) || !(event.ctrlKey || (focused && event.deltaY && gains(factor)))) return;
    event.preventDefault();
    if (gains(factor)) zoom(view, factor, ...at);
  }, { passive: false });

  let spread = 0;
  const fingers = ({ touches: [a, b] }) => ({
    apart: Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY),
    at: spotOn(view.pane, { clientX: (a.clientX + b.clientX) / 2, clientY: (a.clientY + b.clientY) / 2 }),
  });
  view.pane.addEventListener("touchstart", (event) => { spread = event.touches.length === 2 ? fingers(event).apart : 0; }, { passive: true });
  view.pane.addEventListener("touchmove", (event) => {
    if (event.touches.length !== 2 || !spread || !view.unit) return;
    event.preventDefault();
    const { apart, at } = fingers(event);
    zoom(view, apart / spread, ...at);
    spread = apart;
  }, { passive: false });
}

/** Keys of the frame: + and - zoom at the marked cell, 0 shows everything again. True if the key was one of them. */
export function zoomKey(view, key) {
  const factor = { "+": 1.5, "=": 1.5, "-": 1 / 1.5, 0: 1 / view.zoom }[key];
  if (!factor) return false;
  const [r, c] = view.hover ?? view.cell ?? [-1, -1];
  if (r >= 0 && c >= 0) zoom(view, factor, xOf(view, c) + view.across / 2, yOf(view, r) + view.unit / 2);
  else zoom(view, factor);
  return true;
}
