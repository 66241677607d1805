// The presenter's view: what to say, what comes next, the clock, the answers; it steers the lecturer's page by the room's own events.
import { arrange, draw, isDrawn, touch } from "./draw.js";
import { ask } from "./asking.js";

const at = (id) => document.getElementById(id);
const [, typed = ""] = /\/room\/([^/]*)\/presenter$/.exec(location.pathname) ?? [];
const code = decodeURIComponent(typed).toUpperCase().replace(/[^A-Z0-9]/g, "");
const KEYS = { PageDown: "stop_next", PageUp: "stop_back", ArrowRight: "next", ArrowLeft: "back" };
let plan = {}, ahead = 0;   // ahead: seconds that this clock is before the server's

const state = (words) => { at("state").textContent = words; };
const say = (id, words) => { at(id).textContent = words; at(id).hidden = !words; };
const post = (what, told) => fetch(`room/${code}/${what}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(told) });
const time = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;

async function steer(told) {
  try {
    const answer = await post("steer", told);
    if (!answer.ok) state((await answer.json()).error);
  } catch {
    state("The server does not answer. Try again in a moment.");
  }
}

function tick() {
  if (!plan.stops) return;
  const run = Math.max(0, Date.now() / 1000 - ahead - plan.began), late = run - plan.until * 60;
  at("clock").textContent = `${time(run)} / ${time(plan.minutes * 60)}`;
  at("behind").textContent = late > 0 ? `${time(late)} behind the plan` : `This stop: minute ${plan.from} to ${plan.until}`;
  for (const id of ["clock", "behind"]) at(id).classList.toggle("late", late > 0);
}

const HEARD = {
  plan(told) {
    plan = told;
    const walks = Boolean(told.stops);
    for (const button of document.querySelectorAll("[data-lesson]")) button.hidden = !walks;
    for (const id of ["clock", "behind", "next"]) at(id).hidden = !walks;
    say("where", walks ? `${told.title}: stop ${told.at + 1} of ${told.stops.length}` : "");
    say("name", walks ? told.stops[told.at] : "No lesson is walked through");
    say("note", walks ? told.note : "Begin one on the page Lessons of the atlas: its notes, the clock and what comes next stand here.");
    say("asks", walks && told.asks ? `Question: ${told.asks}` : "");
    say("coming", told.next?.name ?? (walks ? "This is the last stop." : ""));
    say("claim", told.next?.claim ?? "");
    at("drawn").hidden = !told.picture;
    at("drawn").src = told.picture || "";
    document.querySelector("[data-act=stop_back]").disabled = !told.at;
    document.querySelector("[data-act=stop_next]").disabled = !told.next;
    tick();
  },
  view(told) {
    at("title").textContent = told.title;
    at("sentence").textContent = told.sentence ? `“${told.sentence}”` : "";
    at("unseen").hidden = told.pictures.length > 0 || !told.unseen;
    arrange(at("pictures"), told.pictures);
  },
  picture: (told) => draw(told, code),
  touch: (told) => isDrawn() && touch(told),
  ask(told) {
    ask(at("ask"), told, null);
    const asked = Boolean(told.id) && !told.revealed;
    document.querySelector("[data-act=reveal]").disabled = !asked;
    if (asked) at("ask").querySelector(".muted").textContent = told.kind === "choice" ? told.options.join(" \u00b7 ") : told.kind === "number" ? `${told.low} to ${told.high} ${told.unit}` : "";
  },
  said({ sentences }) {
    at("sentences").replaceChildren(...sentences.map((words, place) => {
      const line = document.createElement("li"), take = document.createElement("button");
      line.append(words, take);
      take.textContent = "Take";
      take.onclick = () => steer({ act: "take", place });
      return line;
    }));
  },
  pause({ paused }) {
    const pause = document.querySelector("[data-act=pause], [data-act=go]");
    pause.dataset.act = paused ? "go" : "pause";
    pause.textContent = paused ? "Go on" : "Pause";
  },
  people({ joined, answered, asked: open, sentences }) {
    at("people").textContent = `${joined} joined${open ? `, ${answered} answered` : ""}${sentences ? `, ${sentences} ${sentences === 1 ? "sentence" : "sentences"}` : ""}`;
  },
};

async function begin() {
  let answer;
  try {
    answer = await post("lead", { secret: location.hash.slice(1) });   // without one, the cookie of before counts
  } catch {
    state("The server does not answer. Trying again\u2026");
    return void setTimeout(begin, 2000);
  }
  if (!answer.ok) { at("presenter").hidden = true; return state((await answer.json()).error); }
  history.replaceState(null, "", location.pathname);   // the secret is in a cookie now, and in no history
  const date = Date.parse(answer.headers.get("date") ?? "");
  if (date) ahead = Math.round((Date.now() - date) / 1000 / 2) * 2;   // the header counts in seconds
  at("code").textContent = `${code.slice(0, 3)} ${code.slice(3)}`;
  at("presenter").hidden = false;
  HEARD.plan({});
  const stream = new EventSource(`room/${code}/events?as=lead`);
  stream.onopen = () => state("");
  for (const [topic, hear] of Object.entries(HEARD)) stream.addEventListener(topic, ({ data }) => hear(JSON.parse(data)));
  stream.addEventListener("end", () => { stream.close(); at("presenter").hidden = true; state("The room has ended."); });
  stream.onerror = () => {
    state("Connection lost. Trying again\u2026");
    if (stream.readyState === EventSource.CLOSED) setTimeout(begin, 2000);
  };
}

at("steer").onclick = ({ target }) => target.dataset.act && steer({ act: target.dataset.act });
document.addEventListener("keydown", (event) => {
  const act = KEYS[event.key];
  if (!act || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  if (plan.stops || !act.startsWith("stop")) steer({ act });
});
setInterval(tick, 1000);
document.querySelector("[data-act=reveal]").disabled = true;
begin();
