// The parts of a lesson: inside the page where it is one file, in files beside it otherwise; deflated, in base64.
const waiting = new Map(), known = new Map();

/** What the file of a part calls: no page of a stick may fetch, but it may have a script. */
globalThis.lessonPart = (name, text) => waiting.get(name)?.(text);

async function text(name) {
  const inside = document.getElementById(`data-${name}`);
  if (inside) return inside.textContent;
  return new Promise((done, failed) => {
    waiting.set(name, done);
    const script = Object.assign(document.createElement("script"), { src: `parts/${name}.js?${JSON.parse(document.getElementById("data-lesson").textContent).version}` });
    script.onerror = () => failed(new Error(`parts/${name}.js is missing`));
    document.head.append(script);
  });
}

async function inflated(packed) {
  const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
}

/** A part by its name, read once. */
export function load(name) {
  if (!known.has(name)) known.set(name, text(name).then(inflated).then(JSON.parse).catch((error) => { known.delete(name); throw error; }));
  return known.get(name);
}

let vegas = null;

/** Vega: its modules, each under an address of its own, those that it imports first. */
export function vega() {
  return vegas ??= load("vega").then((files) => {
    const addresses = new Map();
    for (const [name, source] of files) {
      const own = source.replace(/(["'`])\.\/([\w.-]+\.js)\1/g, (all, quote, file) => (addresses.has(file) ? `${quote}${addresses.get(file)}${quote}` : all));
      addresses.set(name, URL.createObjectURL(new Blob([own], { type: "text/javascript" })));
    }
    return import([...addresses.values()].at(-1));
  });
}

/** Make the instruments of this page known: what draws each, and its source, which a picture saves with itself. */
export function admitCode() {
  const box = globalThis.attentionAtlas;
  for (const [code, begin] of Object.entries(globalThis.lessonModules ?? {})) box.modules.set(code, { default: begin });
  const bytes = (text) => new TextEncoder().encode(text);
  for (const script of document.querySelectorAll("script[data-code]")) {
    const text = script.textContent, from = text.indexOf("\n") + 1, to = text.lastIndexOf("\n//end");
    const whole = text.slice(from, to).replace(/\nglobalThis\.lessonModules\[.*$/, "\nexport default begin;\nglobalThis.attentionAtlas.alone?.(begin);\n");
    box.parts.set(script.dataset.code, bytes(whole));
  }
}
