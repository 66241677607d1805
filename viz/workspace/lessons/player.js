// A lesson that is walked through: a bar with its stops, the notes on request, the clock; and what the browser keeps of lessons.
const OWN = "atlas.lesson", WALK = "atlas.lesson.walk", NOTES = "atlas.lesson.notes";
const WINDOW = "atlas.lesson.window";
const lives = new WeakMap();
let written = 0;   // which change of the session was kept last: a tab that changed nothing takes nothing from what another one kept

const kept = (store, key) => { try { return store()[key] ?? ""; } catch { return ""; } };   // a browser may refuse to keep anything
const keep = (store, key, text) => { try { if (text) store()[key] = text; else delete store()[key]; } catch { /* then it is kept as long as the page */ } };
const local = () => localStorage, tab = () => sessionStorage;
const parsed = (text) => { try { return JSON.parse(text); } catch { return null; } };
const minutes = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;

/** What was kept goes to a session that knows nothing yet; what a session knows is kept. */
function remember({ turn, own, walk, text }, life) {
  if (!life.offered && turn === 0) {
    life.offered = true;
    const told = { own: kept(local, OWN), walk: walk ? null : parsed(kept(tab, WALK)) };
    if (told.own || told.walk) return life.setTriggerValue("kept", told);
  }
  life.offered = true;
  if (turn > written) { written = turn; if (own !== kept(local, OWN)) keep(local, OWN, own); }
  const now = walk ? JSON.stringify({ text, at: walk.at, began: walk.began }) : "";
  if (walk || life.walked) keep(tab, WALK, now);
  life.walked = Boolean(walk);
  return undefined;
}

/** How long the lesson runs, and what the plan says of it. */
function clock({ from, until, minutes: whole }, seconds) {
  const late = seconds - until * 60;
  return { run: `${minutes(seconds)} / ${whole}:00`.replace(/(\d+)\.5:00/, "$1:30"), late: late > 0, plan: late > 0 ? say("{time} behind the plan", { time: minutes(late) }) : say("This stop: minute {from} to {until}", { from, until }) };
}

/** The channel to the window of notes; its name is kept with the tab, so that two tabs with lessons do not mix. */
function channelOf(life) {
  if (life.channel) return life.channel;
  life.name = kept(tab, WINDOW) || crypto.getRandomValues(new Uint32Array(2)).join("");
  keep(tab, WINDOW, life.name);
  life.channel = new BroadcastChannel(`atlas.lesson.${life.name}`);
  return life.channel;
}

/** The question that the page asks, as it stands there; a formula once. */
function onPage() {
  const asked = document.querySelector("[class*='st-key-asked-'] p")?.cloneNode(true);
  for (const twice of asked?.querySelectorAll(".katex-mathml, strong") ?? []) twice.remove();
  return asked?.textContent.trim() ?? "";
}

function draw(part, { data, life }) {
  const { walk } = data;
  part("bar").hidden = !walk;
  part("notes").hidden = !walk || kept(tab, NOTES) !== "1";
  part("act=notes").setAttribute("aria-pressed", String(!part("notes").hidden));
  part("bar").toggleAttribute("data-presenting", data.presenting);
  if (!walk) { clearInterval(life.ticks); life.channel?.postMessage({ stop: null }); return; }
  const many = walk.stops.length, channel = channelOf(life), place = `${walk.at + 1} / ${many}`;
  part("where").textContent = data.presenting ? place : `${data.away ? "\u21a9 " : ""}${place}  ${walk.stops[walk.at]}`;
  part("where").title = data.away ? say("Back to this stop") : say("{title}: open this stop again", { title: walk.title });
  part("act=back").disabled = !data.ended && walk.at === 0;
  part("act=next").disabled = data.ended;
  for (const name of ["title", "note"]) { part(name).textContent = walk[name]; part(name).hidden = !walk[name]; }
  part("name").textContent = walk.stops[walk.at] + (walk.optional ? ` ${say("(may be skipped)")}` : "");
  part("next").textContent = walk.next ? `${say("Next: {name}", { name: walk.next.name })}${walk.next.optional ? ` ${say("(may be skipped)")}` : ""}` : say("Next: the end, with what was shown, exercises and answers.");
  part("window").href = `${data.home}room/notes#${life.name}`;
  part("window").hidden = Boolean(data.room);
  part("room").hidden = !data.room;
  part("room").href = data.room || "";
  const tick = () => {
    const said = clock(walk, Math.max(0, Date.now() / 1000 - walk.began - life.ahead));
    part("clock").textContent = said.run;
    const asks = (walk.of_page && !data.away && onPage()) || walk.asks;
    part("asks").textContent = asks ? say("Question: {question}", { question: asks }) : "";
    part("asks").hidden = !asks;
    part("plan").textContent = `${said.run}. ${said.plan}.`;
    for (const name of ["clock", "plan"]) part(name).classList.toggle("late", said.late);
    channel.postMessage({ stop: { ...walk, ...said, plan: `${said.plan}.`, question: asks, back: !part("act=back").disabled, forward: !data.ended } });
  };
  life.tick = tick;
  tick();
  clearInterval(life.ticks);
  life.ticks = setInterval(tick, 1000);
}

const typing = (event) => {
  const target = event.composedPath()[0];
  return target instanceof Element && target.closest("input, textarea, select, [contenteditable='true'], [role=dialog], [role=slider], dialog") !== null;
};

export default function ({ parentElement, data, setTriggerValue }) {
  speak(parentElement, data.words);
  const bar = parentElement.querySelector("[data-part=bar]"), part = (name) => parentElement.querySelector(name.includes("=") ? `[data-${name}]` : `[data-part=${name}]`);
  const life = lives.get(bar) ?? {};
  lives.set(bar, life);
  life.stop?.();
  Object.assign(life, { setTriggerValue, data, ahead: data.walk && life.ahead === undefined ? Date.now() / 1000 - data.now : life.ahead ?? 0 });
  remember(data, life);
  draw(part, { data, life });
  const go = (at) => {
    const { walk, pages, page } = life.data;
    if (!walk || at < 0 || at > walk.stops.length || (at === walk.stops.length && life.data.ended)) return;
    if (document.querySelector("[data-atlas-full]")) document.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));   // a stop has words, too
    if ((pages[at] ?? "lessons") !== page) Object.assign(globalThis.atlasHistory ?? {}, { leaving: true, touched: false });   // see history.js
    setTriggerValue("go", at + 1);
  };
  const acts = {
    back: () => go(life.data.walk.at - (life.data.ended ? 0 : 1)), next: () => go(life.data.walk.at + 1), here: () => go(life.data.walk.at),
    leave: () => { keep(tab, WALK, ""); setTriggerValue("leave", Date.now()); },
    notes: () => { keep(tab, NOTES, part("notes").hidden ? "1" : ""); draw(part, { data: life.data, life }); },
  };
  if (life.channel) life.channel.onmessage = ({ data: { hello, go: by } }) => {
    if (!life.data.walk) { if (hello) life.channel.postMessage({ stop: null }); return; }
    if (hello) life.tick();
    if (by === 1) acts.next();
    if (by === -1) acts.back();
  };
  part("window").onclick = (event) => {   // a window beside this one; where the browser refuses it, the link opens a tab
    if (open(part("window").href, "atlas-notes", "popup,width=560,height=760")) event.preventDefault();
    keep(tab, NOTES, "");   // nothing is left on the projected picture
    draw(part, { data: life.data, life });
  };
  bar.onclick = ({ target }) => acts[target.closest("[data-act]")?.dataset.act]?.();
  const press = (event) => {
    const act = { PageDown: "next", PageUp: "back" }[event.key];
    if (!act || !life.data.walk || event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || typing(event)) return;
    event.preventDefault();
    event.stopPropagation();
    acts[act]();
  };
  const other = ({ key, newValue }) => { if (key === OWN && newValue) life.setTriggerValue("kept", { own: newValue, walk: null }); };   // another tab collects
  document.addEventListener("keydown", press, true);
  addEventListener("storage", other);
  life.stop = () => { document.removeEventListener("keydown", press, true); removeEventListener("storage", other); };
  return () => {
    life.stop();
    if (bar.isConnected) return;
    clearInterval(life.ticks);
    life.channel?.close();
    life.channel = null;
  };
}
