// A picture for other programs: what one pastes into a page, a book, slides or a paper. Every word is escaped for the format it goes to.

import { part } from "../page/packets.js";
import { fileName, heading, headerOf } from "./origin.js";
import { zip } from "./npz.js";
import { mark, say } from "../words.js";

const HEIGHT = 600;   // pixels of a frame before it has told its own
const OWN = ["embed", "embed_options", "present"];   // parts of an address that say how a page is shown, not what it shows
const LATEX = {
  "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "<": "\\textless{}", ">": "\\textgreater{}", "|": "\\textbar{}",
  '"': "\\symbol{34}", "\u2192": "\\ensuremath{\\to}", "\u2205": "\\ensuremath{\\emptyset}", "\u221a": "\\ensuremath{\\surd}",
};

/** Words on one line, without what no format prints. */
const line = (text) => text.replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ").trim();
const html = (text) => line(text).replace(/[&<>"'`]/g, (sign) => `&#${sign.charCodeAt(0)};`);
const markdown = (text) => line(text).replace(/[<>&]/g, html).replace(/(?<!&)#|[\\`*_{}[\]|~$^@:=%]|^[-+]|(?<=^\d+)[.)]/g, "\\$&");
const latex = (text) => line(text).replace(/[\\{}$&#_%~^<>|"\u2192\u2205\u221a]/g, (sign) => LATEX[sign] ?? `\\${sign}`);

/** The address of the view on screen, or of its page for a frame, in signs that mean nothing to any format; "" where the picture is on no page of the app. */
function address(framed) {
  const here = globalThis.atlasLink && new URL(location.href);
  if (!here) return "";
  for (const name of OWN) here.searchParams.delete(name);
  if (framed) here.searchParams.set("embed", "1");
  return here.href.replace(/[^\w\-.~:/?#&=%+]/g, (sign) => `%${sign.charCodeAt(0).toString(16).padStart(2, "0").toUpperCase()}`);
}

/** What is under the picture: its name, whose numbers it shows, the text. */
const caption = (spec) => Object.values(heading(headerOf(spec), spec)).filter(Boolean).join(". ") || say("Attention");

const frame = (spec, source, more) => `<iframe ${source}="${html(address(true))}" title="${html(caption(spec))}" ${more}></iframe>`;
const inPage = (spec) => frame(spec, "src", `width="100%" height="${HEIGHT}" style="border:0" loading="lazy"`);

/** The texts that are copied, by kind. */
export const COPIES = {
  link: [mark("Link"), () => address(false)],
  iframe: [mark("Frame"), inPage],
  markdown: ["Markdown", (spec) => `[${markdown(caption(spec))}](${address(false)})`],
  myst: ["MyST", (spec) => `:::{iframe} ${address(true)}\n:width: 100%\n\n${markdown(caption(spec))}\n:::`],
  quarto: ["Quarto", (spec) => `::: {#fig-${label(spec)}}\n\n\`\`\`{=html}\n${inPage(spec)}\n\`\`\`\n\n${markdown(caption(spec))}\n:::`],
  reveal: ["reveal.js", (spec) => `<section>\n  ${frame(spec, "data-src", 'class="r-stretch" style="width:100%;border:0" data-preload')}\n</section>`],
};

/** Whether there is an address to copy. */
export const hasAddress = () => Boolean(globalThis.atlasLink);

/** A name that every format takes: letters without marks, digits and hyphens. */
const label = (spec) => fileName(headerOf(spec), spec).normalize("NFD").replace(/[^a-z0-9-]+/g, "") || "attention";

/** A figure for a paper: its text with caption and label, and the references. `picture` is the name of the graphic without its ending, `command` draws it. */
export function latexFigure(spec, picture = label(spec), command = "includesvg") {
  const references = spec.packet?.header.bibtex ? new TextDecoder().decode(part(spec.packet, "bibtex")) : "";
  const keys = [...references.matchAll(/^@\w+\{([^,]+),/gm)].map(([, key]) => key), needs = command === "includesvg" ? "svg" : "graphicx";
  const text = [
    `% \\usepackage{${needs}} in the preamble${needs === "svg" ? "; LaTeX then calls Inkscape (--shell-escape). Or make a PDF of the graphic and write \\includegraphics" : ""}`,
    "\\begin{figure}[t]", "  \\centering", `  \\${command}[width=\\linewidth]{${picture}}`,
    `  \\caption{${latex(caption(spec))}.${keys.length ? ` \\cite{${keys.join(",")}}` : ""}}`, `  \\label{fig:${label(spec)}}`, "\\end{figure}", "",
  ].join("\n");
  return { text, references: `${references}\n` };
}

/** The same with the graphic, as one archive. */
export function latexArchive(spec, svg) {
  const coder = new TextEncoder(), { text, references } = latexFigure(spec), name = label(spec);
  return zip([[`${name}.tex`, coder.encode(text)], [`${name}.svg`, coder.encode(svg)], [`${name}.bib`, coder.encode(references)]]);
}
