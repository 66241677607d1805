// What the mask editor saves: the mask as it is at that moment, not as it was handed in.

import { paintMatrix } from "../kit/matrix/paint.js";
import { writeRuns } from "../kit/page/packets.js";
import { paintElement } from "../kit/save/dom_pen.js";
import { saveMenu } from "../kit/save/save.js";
import { say } from "../kit/words.js";

export function saveMask(view, packet) {
  const { head } = view, keys = head.keys ?? head.queries, { queries } = head;
  saveMenu(view, view.tools, {
    name: head.title || say("Mask"), packet, changed: () => edited(view, packet),
    size: () => maskSheet(view),
    paint: (pen) => paintMask(pen, view),
    arrays: () => ({
      allowed: { shape: [view.rows, view.cols], values: view.now.slice(), axes: ["query", "key"], bool: true },
      queries: { shape: [view.rows], values: queries },
      keys: { shape: [view.cols], values: keys },
    }),
    rows: () => {
      const out = [["query position", "key position", "query", "key", "allowed"]];
      view.now.forEach((open, i) => { const r = Math.floor(i / view.cols), c = i % view.cols; out.push([r, c, queries[r], keys[c], open]); });
      return out;
    },
  });
}

/** The packet with the mask as it is now: the page that is saved opens with it, and "Start again" still leads to the first one. */
function edited(view, { header, parts }) {
  const now = Uint8Array.from(atob(writeRuns(view.now)), (c) => c.charCodeAt(0));      // the old one stays: a preset may be the same part
  return { header: { ...header, now: "edited" }, parts: new Map(parts).set("edited", now) };
}

function maskSheet(view) {
  const { legend, seenW, seenH } = view;
  const ends = [...legend.children].map((entry) => entry.offsetLeft + entry.offsetWidth - legend.offsetLeft);
  return [Math.max(seenW, ...ends, 0), seenH + 12 + legend.offsetHeight];
}

function paintMask(pen, view) {
  const { theme, legend } = view;
  paintMatrix(pen, view);
  pen.save(); pen.translate(0, view.seenH + 12);
  paintElement(pen, legend, legend, theme);
  pen.restore();
}
