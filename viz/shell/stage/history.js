// One visit to a page is one entry of the browser's history, and so is one drag of a slider. Streamlit pushes an entry
// for each write of the link, and on a page change it writes the new link once under the old path before it pushes the
// new path. So: what a page writes before the visitor has touched anything on it replaces its entry; a write soon after
// the last one replaces that one; and a write between a click on a link and the new path is not for this page.
const DRAG = 450; // milliseconds between writes that count as one

function calmHistory() {
  if (globalThis.atlasHistory) return;
  const last = (globalThis.atlasHistory = { at: -Infinity, same: false, touched: false, leaving: false });
  const arrive = () => Object.assign(last, { same: false, touched: false, leaving: false });
  const elsewhere = (href) => new URL(href, location.href).pathname !== location.pathname;
  const touch = (event) => {
    const link = event.composedPath().find((node) => node instanceof HTMLAnchorElement && node.href);
    last.leaving = Boolean(link) && elsewhere(link.href);
    last.touched = !last.leaving;
  };
  for (const kind of ["pointerdown", "keydown"]) addEventListener(kind, touch, true);
  addEventListener("popstate", arrive, true);
  const push = history.pushState.bind(history);
  history.pushState = (data, title, url) => {
    if (elsewhere(url ?? location.href)) {
      arrive();
      return push(data, title, url);
    }
    if (last.leaving) return undefined;
    const quick = last.same && performance.now() - last.at < DRAG;
    Object.assign(last, { at: performance.now(), same: true });
    return quick || !last.touched ? history.replaceState(data, title, url) : push(data, title, url);
  };
}
