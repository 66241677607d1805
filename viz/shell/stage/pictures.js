// What the tool bar of a chart saves is as complete as what an instrument saves: above the picture its name, whose numbers it shows, and the text.
// parts.py hands them over behind the chart's name, a line each; they are taken out of it before a screen reader hears it.

const CHARTS = '[data-testid="stPlotlyChart"], [data-testid="stVegaLiteChart"]';
const PAPER = 16, LINES = [["600 15px", 20, 2], ["13px", 18, 2], ["13px", 18, 3]];   // pixels around a picture; type, height of a line, at most so many
let asked;   // the chart whose picture was asked for last

function takeHeadings() {
  for (const named of document.querySelectorAll('[aria-label*="\\a "]')) {
    const [name, ...whose] = named.getAttribute("aria-label").split("\n");
    if (named.matches(CHARTS)) named.dataset.whose = JSON.stringify(whose);
    named.setAttribute("aria-label", name);
  }
}

/** Words in at most `most` lines as wide as the picture. */
function laid(pen, words, width, most) {
  const lines = [""];
  for (const word of words.split(" ")) {
    const longer = `${lines.at(-1)} ${word}`.trim();
    if (!lines.at(-1) || pen.measureText(longer).width <= width) lines[lines.length - 1] = longer; else lines.push(word);
  }
  return lines.length > most ? [...lines.slice(0, most - 1), `${lines[most - 1]}\u2026`] : lines;
}

/** The picture at `address` on paper below its heading, and the name of its file. */
async function complete(address, chart) {
  const drawn = await createImageBitmap(await (await fetch(address)).blob()), seen = getComputedStyle(document.documentElement);
  const heading = [chart.getAttribute("aria-label"), ...JSON.parse(chart.dataset.whose ?? "[]")], fine = drawn.width / (chart.clientWidth || drawn.width / 2);
  const width = drawn.width / fine, canvas = document.createElement("canvas"), pen = canvas.getContext("2d"), font = getComputedStyle(chart).fontFamily;
  const rows = LINES.flatMap(([type, high, most], at) => {
    pen.font = `${type} ${font}`;
    return heading[at] ? laid(pen, heading[at], width, most).map((line) => [line, pen.font, high]) : [];
  });
  const above = PAPER + rows.reduce((sum, [, , high]) => sum + high, 10);
  Object.assign(canvas, { width: drawn.width + 2 * PAPER * fine, height: drawn.height + (above + PAPER) * fine });
  pen.fillStyle = seen.getPropertyValue("--st-background-color");
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(drawn, PAPER * fine, above * fine);
  pen.scale(fine, fine);
  let top = PAPER;
  for (const [line, type, high] of rows) {
    Object.assign(pen, { font: type, fillStyle: seen.getPropertyValue("--st-text-color"), textBaseline: "middle" });
    pen.fillText(line, PAPER, top + high / 2, width);
    top += high;
  }
  const name = [...`${heading[1] ?? ""} ${heading[0]}`.toLowerCase().replace(/[^\p{L}\p{M}\p{N}]+/gu, "-").replace(/^-|-$/g, "")].slice(0, 80).join("");
  return [await new Promise((done) => canvas.toBlob(done, "image/png")), `${name}.png`];
}

async function saveComplete(address, chart) {
  const [picture, name] = await complete(address, chart), link = document.createElement("a");
  Object.assign(link, { href: URL.createObjectURL(picture), download: name });
  link.click();   // it stands nowhere in the page, so it is not kept back below
  setTimeout(() => URL.revokeObjectURL(link.href), 30000);
}

/** A picture on its way out of the page is kept back and sent on with its heading. */
function sendComplete(event) {
  const at = event.composedPath()[0], link = at instanceof Element ? at.closest("a[download$='.png']") : null;
  if (!link) asked = at instanceof Element ? at.closest('[data-testid="stElementContainer"]')?.querySelector(CHARTS) ?? asked : asked;
  else if (asked && /^(blob|data):/.test(link.href)) {
    event.preventDefault();
    event.stopPropagation();
    saveComplete(link.href, asked);
  }
}

/** Takes headings as they come, and completes pictures; gives what ends it. */
function keepComplete() {
  document.addEventListener("click", sendComplete, true);
  return () => document.removeEventListener("click", sendComplete, true);
}
