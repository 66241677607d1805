// The lecturer's notes in a second window. It is this page's own: from a stick two pages cannot speak to each other.
import { say, writeNumber } from "../../languages/words.js";

const time = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;

/** The window of notes: `open(at)` opens it, `tell(at, last)` says at which stop the lesson is; `go(by)` is called for its buttons and keys. */
export function notesWindow({ title, stops, minutes }, started, go) {
  let shown = null, stop = 0, over = false;
  const part = (name) => shown.document.getElementById(name);
  const starts = (at) => stops.slice(0, at).reduce((sum, { minutes: each }) => sum + each, 0);
  const write = (name, words) => { part(name).textContent = words; part(name).hidden = !words; };
  const minute = (at) => writeNumber(String(starts(at)));
  function draw() {
    if (!shown || shown.closed) return;
    const now = stops[stop], next = stops[stop + 1];
    write("where", over ? title : say("{title}: stop {n} of {all}", { title, n: stop + 1, all: stops.length }));
    write("name", over ? say("The end") : now.name + (now.optional ? say(" (may be skipped)") : ""));
    write("note", over ? "" : now.note);
    write("plan", over ? "" : say("This stop: minute {begin} to {end}", { begin: minute(stop), end: minute(stop + 1) }));
    write("coming", over ? "" : next ? say("Next: {name}", { name: next.name }) : say("Next: the end"));
    part("back").disabled = stop === 0;
    part("forward").disabled = over;
    tick();
  }
  function tick() {
    if (shown && !shown.closed) part("clock").textContent = `${time((Date.now() - started) / 1000)} / ${time(minutes * 60)}`;
  }
  setInterval(tick, 1000);
  return {
    tell(at, last) { stop = last ? stops.length - 1 : at; over = last; draw(); },
    open() {
      shown = open("", "atlas-lesson-notes", "popup,width=560,height=760");
      if (!shown) return false;
      const page = shown.document, make = (tag, parent, id, text = "") => {
        const made = Object.assign(page.createElement(tag), { id, textContent: text });
        parent.append(made);
        return made;
      };
      page.title = say("Notes \u00b7 {title}", { title });
      for (const name of ["lang", "dir"]) page.documentElement[name] = document.documentElement[name];
      page.head.replaceChildren(page.importNode(document.querySelector("style"), true));
      page.body.replaceChildren();
      page.body.className = "notes";
      const main = make("main", page.body, "notespage");
      for (const [tag, id] of [["p", "clock"], ["p", "plan"], ["p", "where"], ["h1", "name"], ["p", "note"], ["h2", "coming"]]) make(tag, main, id);
      const row = make("nav", main, "notessteps");
      row.className = "row";
      make("button", row, "back", say("\u00ab Previous stop")).onclick = () => go(-1);
      make("button", row, "forward", say("Next stop \u00bb")).onclick = () => go(1);
      page.onkeydown = (event) => {
        const by = { PageDown: 1, PageUp: -1 }[event.key];
        if (by && !event.repeat) { event.preventDefault(); go(by); }
      };
      draw();
      shown.focus();
      return true;
    },
  };
}
