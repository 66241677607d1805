// One visit to a page is one entry of the browser's history, and so is one drag of a slider. Streamlit pushes an entry
// for each write of the link, and on a page change it writes the new link once under the old path before it pushes the
// new path. So: a write to the same page soon after the last one replaces that entry, and a write that turns out to
// belong to the next page is taken back.
const DRAG = 450; // milliseconds between writes that count as one
const TURN = 400; // between the early write and the new path

function calmHistory() {
  if (globalThis.atlasHistory) return;
  const last = (globalThis.atlasHistory = { at: -Infinity, same: false, replaced: false, was: "" });
  const push = history.pushState.bind(history);
  history.pushState = (data, title, url) => {
    const same = new URL(url ?? location.href, location.href).pathname === location.pathname;
    const age = performance.now() - last.at;
    last.at = performance.now();
    if (same) {
      last.replaced = last.same && age < DRAG;
      last.was = location.href;
      last.same = true;
      return last.replaced ? history.replaceState(data, title, url) : push(data, title, url);
    }
    const early = last.same && age < TURN;
    last.same = false;
    if (early && !last.replaced) return history.replaceState(data, title, url);
    if (early) history.replaceState(data, title, last.was);
    return push(data, title, url);
  };
}
