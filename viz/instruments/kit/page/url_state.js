// What a visitor chose inside an instrument: kept for the visit, and in the address where the page names a parameter.

const kept = new Map();

/** What was chosen in this place before, or null: the address first, then this visit. */
export function recall({ url, place }) {
  const here = url && /^http/.test(location.protocol) ? new URL(location.href).searchParams.get(url) : null;
  return here ?? kept.get(place) ?? null;
}

/** Keep `value` for this place (null takes it out of the address); the server hears nothing. Browsers refuse more than a few changes of the address a second. */
export function remember(view, value) {
  const { url, place } = view.head;
  if (place) kept.set(place, value);
  view.kept = value;
  if (!url) return;
  clearTimeout(view.later);
  view.later = setTimeout(() => address(view), 150);
}

function address(view) {
  const { url } = view.head;
  if (!url || view.kept === undefined || !view.root.isConnected || !/^http/.test(location.protocol)) return;
  const here = new URL(location.href);
  if (here.searchParams.get(url) === view.kept) return;
  if (view.kept === null) here.searchParams.delete(url);
  else here.searchParams.set(url, view.kept);
  history.replaceState(history.state, "", here);
}

/** A page that writes its own parameters drops ours from the address: put it back. */
export function keepAddress(view) {
  for (const ms of [0, 300]) setTimeout(() => address(view), ms);
}
