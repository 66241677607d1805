// What the mask editor saves: the mask as it is at that moment, not as it was handed in.

function saveMask(view, packet) {
  const { head } = view, keys = head.keys ?? head.queries, { queries } = head;
  saveMenu(view, view.tools, {
    name: head.title || "mask",
    size: () => maskSheet(view).size,
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
    code: head.python,
    packet: () => edited(view, packet),
  });
}

/** The packet with the mask as it is now: the page that is saved opens with it, and "Start again" still leads to the first one. */
function edited(view, { header, parts }) {
  const now = Uint8Array.from(atob(writeRuns(view.now)), (c) => c.charCodeAt(0));      // the old one stays: a preset may be the same part
  return { header: { ...header, now: "edited" }, parts: new Map(parts).set("edited", now) };
}

function maskSheet(view) {
  const { heading, legend, seenW, seenH } = view, top = heading.textContent ? 30 : 0;
  const ends = [...legend.children].map((entry) => entry.offsetLeft + entry.offsetWidth - legend.offsetLeft);
  return { size: [Math.max(seenW, ...ends, 0), top + seenH + 12 + legend.offsetHeight], top };
}

function paintMask(pen, view) {
  const { size: [width], top } = maskSheet(view), { theme, heading, legend } = view;
  if (top) {
    pen.font = `600 15px ${theme.font}`; pen.fillStyle = theme.text; pen.textAlign = "left"; pen.textBaseline = "middle";
    pen.fillText(heading.textContent, 0, 10, width);
  }
  pen.save(); pen.translate(0, top);
  paintMatrix(pen, view);
  pen.restore();
  pen.save(); pen.translate(0, top + view.seenH + 12);
  paintElement(pen, legend, legend, theme);
  pen.restore();
}
