// Everything on the page that a viewer does not see whole: words and drawings beyond the window, or beyond a box that clips or scrolls them.
() => {
  const SLACK = 3, EMPTY = 0.25;   // pixels of the screen, which browsers round; the share of a line's height above and below its letters
  const main = document.querySelector('[data-testid="stMain"]'), cut = [];
  const parentOf = (node) => node.assignedSlot ?? node.parentElement ?? node.getRootNode().host ?? null;
  const clips = (style, axis) => style[axis] !== "visible";
  const judge = (element, box, name) => {
    if (box.width < 1 || box.height < 1) return;
    const down = SLACK + (name.startsWith('"') ? EMPTY * box.height : 0);
    const beyond = (edge) => [box.left < edge.left - SLACK, box.top < edge.top - down, box.right > edge.right + SLACK, box.bottom > edge.bottom + down];
    const over = (edge) => Math.round(Math.max(edge.left - box.left, edge.top - box.top, box.right - edge.right, box.bottom - edge.bottom));
    const screen = { left: 0, top: 0, right: innerWidth, bottom: innerHeight };
    if (beyond(screen).some(Boolean)) return cut.push(`${name}: ${over(screen)} px out of the window`);
    for (let node = element; node && node !== main; node = parentOf(node)) {
      if (node instanceof SVGElement && node.tagName !== "svg") continue;
      if (node.tagName === "CANVAS" || node.tagName === "IMG") continue;
      const style = getComputedStyle(node), across = clips(style, "overflowX"), along = clips(style, "overflowY");
      if (!across && !along) continue;
      const edge = node.getBoundingClientRect(), [left, top, right, bottom] = beyond(edge);
      if ((across && (left || right)) || (along && (top || bottom))) return cut.push(`${name}: ${over(edge)} px cut by ${node.tagName} ${node.dataset?.testid ?? node.getAttribute("class") ?? ""}`);
    }
  };
  const seen = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && !element.closest("style, script, .sr, .katex-mathml");
  const walk = (node) => {
    if (node.nodeType === Node.TEXT_NODE) {
      const element = node.parentElement ?? node.getRootNode().host, words = node.textContent.trim();
      if (!words || !element || !seen(element) || element.getBoundingClientRect().width < 2) return;
      const range = document.createRange();
      range.selectNodeContents(node);
      judge(element, element instanceof SVGElement ? element.getBoundingClientRect() : range.getBoundingClientRect(), `"${words.slice(0, 30)}"`);
      return;
    }
    if (node.nodeType !== Node.ELEMENT_NODE && !(node instanceof ShadowRoot)) return;
    if (node instanceof Element && node.matches("canvas, img, svg.marks, .main-svg") && seen(node)) judge(parentOf(node), node.getBoundingClientRect(), node.tagName);
    if (node.shadowRoot) walk(node.shadowRoot);
    node.childNodes.forEach(walk);
  };
  walk(main);
  if (main.scrollWidth > main.clientWidth + 1) cut.push(`wider than the window: ${main.scrollWidth} of ${main.clientWidth} px`);
  if (main.scrollHeight > main.clientHeight + 1) cut.push(`higher than the window: ${main.scrollHeight} of ${main.clientHeight} px`);
  return cut;
}
