// Whether an instrument is in the visitor's view, told to Python where that changes what Python should send.

const AHEAD = "200px 0px";   // so near counts as in view: what is fetched then is there when the place is

/**
 * Watches the place of `view`: the columns that it shares with what stands beside it, else its own root.
 * Where the browser cannot tell, everything is in view. `view.near` is undefined until it has been seen once.
 */
export function watch(view) {
  const place = (view.root.getRootNode().host ?? view.root).closest('[data-testid="stHorizontalBlock"]') ?? view.root;
  if (place === view.place) return;
  view.deaf?.();
  view.place = place;
  if (!globalThis.IntersectionObserver) { view.near = true; return; }
  const seen = new IntersectionObserver((entries) => { view.near = entries.at(-1).isIntersecting; tellNear(view); }, { rootMargin: AHEAD, scrollMargin: AHEAD });
  const sized = new ResizeObserver(() => { if (view.head.light === false) view.tall = place.offsetHeight; });
  seen.observe(place);
  sized.observe(place);
  view.deaf = () => { seen.disconnect(); sized.disconnect(); };
}

/**
 * In view and waiting: ask for the figures. Out of view and given new ones (`view.unasked`): ask for no more.
 * Scrolling past figures that are true says nothing, and no packet is answered twice.
 */
export function tellNear(view) {
  const { light } = view.head;
  if (light === undefined || view.near === undefined) return;
  view.root.dataset.near = String(view.near);
  const asks = view.near && light, leaves = !view.near && !light && view.unasked;
  if (view.near) view.unasked = false;
  if (!(asks || leaves) || view.answered === view.head) return;
  view.answered = view.head;
  view.unasked = false;
  view.component.setStateValue("near", view.near);
}
