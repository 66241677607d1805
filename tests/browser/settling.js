// Counts, in a page of Streamlit, what is asked of the server, what came back, what still waits and what changes; a look at it counts (`wire.rests()`) once a frame was drawn after the last one.
(() => {
  const LATER = 250;   // milliseconds: whoever waits for less (a drag that pauses, an address that is written) is part of what was done; a clock is not
  const FRAMES = 3;   // looks without a change, each after a frame
  const wire = (window.wire = { asked: 0, begun: false, running: false, changes: 0, waiting: new Set(), quiet: 0, seen: -1 });

  function* fields(bytes) {
    let at = 0;
    const whole = () => { let n = 0, by = 1, byte; do { byte = bytes[at++]; n += (byte & 127) * by; by *= 128; } while (byte > 127); return n; };
    while (at < bytes.length) {
      const tag = whole(), kind = tag % 8, number = Math.floor(tag / 8);
      if (kind === 0) yield [number, whole()];
      else {
        const length = kind === 2 ? whole() : kind === 1 ? 8 : 4;
        yield [number, bytes.subarray(at, at + length)];
        at += length;
      }
    }
  }
  const field = (bytes, wanted) => { for (const [number, value] of fields(bytes)) if (number === wanted) return String(value); };

  let page;
  const parts = new Set();   // of this page: one of a page that was left may ask, and is not answered

  function said(bytes) {
    for (const [number, ask] of fields(bytes)) {
      const part = number === RERUN_SCRIPT && field(ask, ASKING_PART);
      if (number === RERUN_SCRIPT && (!part || parts.has(part))) { wire.asked += 1; wire.begun = false; }
    }
  }

  function heard(bytes) {
    for (const [number, value] of fields(bytes)) {
      if (number === NEW_SESSION) {
        wire.begun = wire.running = true;
        if (page !== (page = field(value, PAGE))) parts.clear();
      }
      if (number === DELTA) parts.add(field(value, PART));
      if (number === SCRIPT_FINISHED) wire.running = value === FOR_ANOTHER_RUN;
    }
  }

  const Socket = window.WebSocket;
  window.WebSocket = class extends Socket {
    constructor(...address) {
      super(...address);
      this.addEventListener("message", ({ data }) => data instanceof ArrayBuffer && heard(new Uint8Array(data)));
    }
    send(data) {
      if (data instanceof Uint8Array) said(data);
      super.send(data);
    }
  };

  const { setTimeout, clearTimeout } = window;
  window.setTimeout = (call, after = 0, ...given) => {
    const id = setTimeout((...all) => { wire.waiting.delete(id); return typeof call === "function" ? call(...all) : window.eval(call); }, after, ...given);
    if (!(after > LATER)) wire.waiting.add(id);
    return id;
  };
  window.clearTimeout = (id) => { wire.waiting.delete(id); clearTimeout(id); };

  const watch = new MutationObserver(() => { wire.changes += 1; });
  const observed = (root) => watch.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
  const roots = new Set();
  const { attachShadow } = Element.prototype;
  Element.prototype.attachShadow = function (how) { const root = attachShadow.call(this, how); observed(root); roots.add(root); return root; };
  /** Whether each instrument has drawn a packet: it reads the page's colours then (readTheme); its code is inflated and imported after its element is there, which no change of the page and no timer tells. */
  const drawn = () => {
    for (const root of roots) {
      if (!root.host.isConnected) roots.delete(root);
      else if (root.querySelector(".atlas:not([data-mode])")) return false;
    }
    return true;
  };
  observed(document);

  addEventListener("DOMContentLoaded", () => {   // what fades or turns ends at once: a page at rest looks the same, and its frames cost more than its runs
    const ended = new CSSStyleSheet();
    ended.replaceSync("*, ::before, ::after { animation: none !important; transition: none !important; }");
    document.adoptedStyleSheets.push(ended);
  });

  let framed = true;   // what a frame sets off, such as the scale of the page, has happened since the last look
  const calm = (also) => {
    if (!framed) return false;
    framed = false;
    requestAnimationFrame(() => { framed = true; });
    const same = wire.changes === wire.seen && !wire.waiting.size && also;
    wire.seen = wire.changes;
    wire.quiet = same ? wire.quiet + 1 : 0;
    return wire.quiet >= FRAMES;
  };
  wire.still = () => calm(document.readyState === "complete");
  wire.rests = () => calm(wire.asked > 0 && wire.begun && !wire.running && document.querySelector('[data-testid="stApp"]')?.dataset.testScriptState === "notRunning"
    && !document.querySelector('[data-testid="stSkeleton"], [data-stale="true"]') && drawn());
})();
