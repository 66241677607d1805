// Plotly reads the pointer's position in pixels of the screen, and knows of transforms but not of the zoom that enlarges a page in Present.

/** Tell Plotly where the pointer would be on a chart that is not enlarged; returns a function that ends it. */
function keepPointed() {
  const move = (event) => {
    const zoom = event.target instanceof Element && event.target.closest(".js-plotly-plot") ? event.target.currentCSSZoom ?? 1 : 1;
    if (!event.isTrusted || Math.abs(zoom - 1) < 0.001) return;
    event.stopImmediatePropagation();
    const box = event.target.getBoundingClientRect();
    event.target.dispatchEvent(new MouseEvent("mousemove", { bubbles: true, cancelable: true, view: window, clientX: box.left + (event.clientX - box.left) / zoom, clientY: box.top + (event.clientY - box.top) / zoom }));
  };
  addEventListener("mousemove", move, true);
  return () => removeEventListener("mousemove", move, true);
}
