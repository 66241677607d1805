// A lesson without a server: its stops, drawn and asked as in a lecture room, judged here; answers and place stay in this browser.
import { arrange, draw } from "../../classroom/page/draw.js";
import { answerOf, ask, forget, judge, remember, typeset, wasRight } from "../../classroom/page/asking.js";
import { say, speakPage } from "../../languages/words.js";
import { admitCode, load, vega } from "./parts.js";
import { notesWindow } from "./notes.js";

speakPage();

const at = (id) => document.getElementById(id);
const lesson = JSON.parse(at("data-lesson").textContent), { stops } = lesson;
const KEPT = `atlas.published.${lesson.id}`;
const box = globalThis.attentionAtlas;
const make = (tag, parent, text = "", more = {}) => {
  const made = Object.assign(document.createElement(tag), { textContent: text, ...more });
  parent?.append(made);
  return made;
};

box.vega = vega;

// what this browser keeps: the stop, those that were seen, and the answers by the ids of their questions
const kept = { at: 0, seen: [], answers: {} };
const started = Date.now();
try { Object.assign(kept, JSON.parse(localStorage.getItem(KEPT)) ?? {}); } catch { /* a browser may refuse to keep anything */ }
for (const [id, answer] of Object.entries(kept.answers)) remember({ id, answer });
const keep = () => { try { localStorage.setItem(KEPT, JSON.stringify(kept)); } catch { /* then it is kept as long as the page */ } };

let current = -1, turn = 0;

/** How many of the questions of a stop are answered, in their order. */
const answered = ({ phases }) => {
  const open = phases.findIndex(({ ask: asked }) => asked && answerOf(asked.id) === undefined);
  return open < 0 ? phases.length - 1 : open;
};

function list() {
  at("list").replaceChildren(...[...stops.map(({ name }) => name), say("The end")].map((name, i) => {
    const line = make("li"), button = make("button", line, "", { onclick: () => show(i, true) });
    make("span", button, i === stops.length ? "" : kept.seen.includes(i) ? "\u2713" : String(i + 1), { ariaHidden: "true" });
    make("span", button, name);
    if (i === current) button.setAttribute("aria-current", "step");
    if (kept.seen.includes(i)) make("span", button, say(" (seen)"), { className: "unseen" });
    return line;
  }));
  at("list").children[current].scrollIntoView({ block: "nearest" });
  at("progress").textContent = current < stops.length ? say("Stop {n} of {all}", { n: current + 1, all: stops.length }) : stops.length === 1 ? say("1 stop") : say("{n} stops", { n: stops.length });
}

/** Draw the questions and pictures of a stop as far as it is answered. */
function drawPhase(stop, home) {
  const phase = answered(stop);
  stop.phases.forEach(({ ask: asked }, i) => {
    if (!asked || i > phase) return;
    const section = home.children[i] ?? make("section", home);
    section.dataset.asked = "";
    if (i < phase) { judge(section, asked); return; }
    ask(section, { ...asked, revealed: false, commit: say("That is my guess") }, async (id, answer) => {
      kept.answers[id] = answer;
      keep();
      const before = scrollY;
      drawPhase(stop, home);
      scrollTo(0, before);
      const verdict = section.querySelector(".verdict") ?? section;
      verdict.tabIndex = -1;
      verdict.focus({ preventScroll: true });
      return "";
    });
  });
  const { pictures } = stop.phases[phase];
  admitCode();
  arrange(at("pictures"), pictures.map(({ key }) => key));
  for (const told of pictures) {
    for (const [id, how] of Object.entries(told.parts ?? {})) how[0] = stop.parts[id]?.[0] ?? null;
    draw(told, "");
  }
}

async function show(to, focus = false) {
  current = kept.at = Math.max(0, Math.min(to, stops.length));
  const mine = ++turn, last = current === stops.length;
  try { history.replaceState(null, "", `#${current + 1}`); } catch { /* a frame may have no address of its own */ }
  at("back").disabled = current === 0;
  at("forward").disabled = last;
  at("forward").textContent = current === stops.length - 1 ? say("To the end \u00bb") : say("Next stop \u00bb");
  at("finished").hidden = !last;
  at("stop").hidden = last;
  at("state").textContent = "";
  list();
  if (last) { arrange(at("pictures"), []); finish(); }
  else {
    const told = stops[current];
    at("where").textContent = say("{n} of {all}", { n: current + 1, all: stops.length }) + (told.optional ? say(" (may be skipped)") : "");
    at("name").textContent = told.name;
    at("says").textContent = "";
    at("questions").replaceChildren();
    arrange(at("pictures"), []);
    at("unseen").hidden = at("own").hidden = true;
    const stop = await load(`stop-${current + 1}`);
    if (mine !== turn) return;
    if (stop.title !== told.name) at("where").textContent += ` \u00b7 ${stop.title}`;
    typeset(at("says"), stop, "says");
    const none = !stop.phases.some(({ pictures }) => pictures.length);
    at("own").hidden = !stop.own || !lesson.version;   // the models are beside the folder's page, not beside the one file
    if (stop.own) at("own").firstChild.href = `${lesson.live}#${stop.own}&stop=${current + 1}`;
    at("unseen").hidden = !none && !stop.unseen;
    at("unseen").textContent = none
      ? say("This stop cannot be recorded: what \u201c{title}\u201d shows here is only in the full app, at {link}", stop)
      : say("The page \u201c{title}\u201d shows more in the full app, at {link}", stop);
    drawPhase(stop, at("questions"));
    if (!kept.seen.includes(current)) kept.seen.push(current);
    keep();
    if (stops[current + 1]) load(`stop-${current + 2}`);   // the next one is there when it is asked for
  }
  notes.tell(current, last);
  if (focus) { scrollTo(0, 0); document.querySelector(last ? "#finished h1" : "#name").focus({ preventScroll: true }); }
}

async function finish() {
  const all = (await Promise.all(stops.map((_, i) => load(`stop-${i + 1}`)))).flatMap(({ phases }, i) => phases.map(({ ask: asked }) => asked && { asked, i }).filter(Boolean));
  const judged = all.filter(({ asked }) => asked.kind !== "touch"), done = judged.filter(({ asked }) => answerOf(asked.id) !== undefined);
  const right = done.filter(({ asked }) => wasRight(asked)).length;
  at("score").textContent = judged.length ? say("{done} of {all} questions answered, {right} of them right.", { done: done.length, all: judged.length, right }) : "";
  at("answers").replaceChildren(...judged.map(({ asked, i }) => {
    const line = make("li"), known = answerOf(asked.id) !== undefined;
    make("span", line, known ? (wasRight(asked) ? say("Right: ") : say("Not right: ")) : say("Open: "));
    make("span", line, `${asked.words} `);
    make("button", line, say("Stop {n}", { n: i + 1 }), { onclick: () => show(i, true) });
    return line;
  }));
}

const notes = notesWindow(lesson, started, (by) => show(current + by));
at("opennotes").hidden = !lesson.notes;
at("opennotes").onclick = () => { if (!notes.open(current)) at("state").textContent = say("The browser refuses a window. Allow windows of this page, and press Notes again."); };
at("back").onclick = () => show(current - 1, true);
at("forward").onclick = () => show(current + 1, true);
at("restart").onclick = () => { for (const id of Object.keys(kept.answers)) forget(id); Object.assign(kept, { at: 0, seen: [], answers: {} }); keep(); show(0, true); };
addEventListener("keydown", (event) => {
  const by = { PageDown: 1, PageUp: -1 }[event.key], target = event.composedPath()[0];
  if (!by || event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || target.closest?.("input, textarea, select, pre")) return;
  event.preventDefault();
  show(current + by, true);
});
addEventListener("hashchange", () => { const to = Number(location.hash.slice(1)) - 1; if (Number.isInteger(to) && to !== current) show(to, true); });

document.title = at("lessontitle").textContent = lesson.title;
at("about").textContent = lesson.about;
at("licences").textContent = lesson.licences;
at("live").hidden = !lesson.live || !lesson.version;
if (lesson.live) at("live").firstChild.href = `${lesson.live}#stop=${stops.length + 1}`;
const wide = matchMedia("(min-width: 1100px)"), fold = document.querySelector("#stops details");
fold.open = wide.matches;
wide.addEventListener("change", () => { fold.open = wide.matches; });
at("list").addEventListener("click", () => { if (!wide.matches) fold.open = false; });

const asked = Number(location.hash.slice(1)) - 1;
show(Number.isInteger(asked) && asked >= 0 ? asked : kept.at);

try {
  const workers = lesson.worker && /^http/.test(location.protocol) ? navigator.serviceWorker : null, before = workers?.controller;
  workers?.register(lesson.worker, { updateViaCache: "none" }).catch(() => { /* without it the page is read from the server */ });
  workers?.addEventListener("controllerchange", () => { if (before) location.reload(); });   // a newer lesson took the place of this one
} catch { /* a frame may be denied one */ }
