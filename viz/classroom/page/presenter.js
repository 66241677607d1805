// Control, for the lecturer alone: what to say, what comes next, the clock, the answers so far, the sentences; it steers the lecturer's page by the room's own events.
import { arrange, draw, isDrawn, touch } from "./draw.js";
import { ask, drawTally } from "./asking.js";
import { ending } from "./ending.js";
import { say, speakPage } from "../../languages/words.js";

speakPage(document.documentElement);

const at = (id) => document.getElementById(id);
const [, typed = ""] = /\/room\/([^/]*)\/(?:presenter|remote)$/.exec(location.pathname) ?? [];
const code = decodeURIComponent(typed).toUpperCase().replace(/[^A-Z0-9]/g, "");
const KEYS = { PageDown: "stop_next", PageUp: "stop_back", ArrowRight: "next", ArrowLeft: "back" };
const WEAK = 0.35, STRONG = 0.7;   // shares of right answers: below, a hint is due; between, a discussion (Vickrey et al. 2015)
let plan = {}, asked = {}, people = {}, ahead = 0;   // ahead: seconds that this clock is before the server's

const state = (words) => { at("state").textContent = words; };
const put = (id, words) => { at(id).textContent = words; at(id).hidden = !words; };
const post = (what, told) => fetch(`room/${code}/${what}`, { method: "POST", headers: { "Content-Type": "application/json", "Accept-Language": document.documentElement.lang }, body: JSON.stringify(told) });
const skip = (optional) => (optional ? say(" (may be skipped)") : "");
const time = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;

async function steer(told) {
  try {
    const answer = await post("steer", told);
    if (!answer.ok) state((await answer.json()).error);
  } catch {
    state(say("The server does not answer. Try again in a moment."));
  }
}

function tick() {
  if (!plan.stops) return;
  const run = Math.max(0, Date.now() / 1000 - ahead - plan.began), late = run - plan.until * 60;
  at("clock").textContent = `${time(run)} / ${time(plan.minutes * 60)}`;
  at("behind").textContent = late > 0 ? say("{time} behind the plan", { time: time(late) }) : say("This stop: minute {from} to {until}", plan);
  for (const id of ["clock", "behind"]) at(id).classList.toggle("late", late > 0);
}

const HEARD = {
  plan(told) {
    plan = told;
    const walks = Boolean(told.stops);
    for (const button of document.querySelectorAll("[data-lesson]")) button.hidden = !walks;
    for (const id of ["clock", "behind", "next"]) at(id).hidden = !walks;
    put("where", walks ? say("{title}: stop {n} of {total}", { title: told.title, n: told.at + 1, total: told.stops.length }) : "");
    put("name", walks ? told.stops[told.at] + skip(told.optional) : say("No lesson is running"));
    put("note", walks ? told.note : say("Start one on the page Lessons: its notes, the clock and the next stop appear here."));
    put("asks", walks && told.asks ? say("Question: {question}", { question: told.asks }) : "");
    put("coming", told.next ? told.next.name + skip(told.next.optional) : (walks ? say("This is the last stop.") : ""));
    put("claim", told.next?.claim ?? "");
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
    asked = told;
    ask(at("ask"), told, null);
    if (told.id && !told.revealed && at("ask").lastChild.className === "muted") at("ask").lastChild.remove();   // it is for the class
    button("close").hidden = !told.own;
    button("close").textContent = told.revealed ? say("Close the question") : say("Take it back");
    able();
  },
  votes(told) {
    const open = Boolean(told.id) && !told.revealed;
    at("votes").hidden = !open;
    at("votes").replaceChildren();
    if (!open) return;
    const title = document.createElement("h2"), advice = document.createElement("p");
    title.textContent = say("So far, for you alone");
    advice.className = "verdict";
    advice.textContent = advise(told);
    at("votes").append(title, advice);
    drawTally(at("votes"), told);
  },
  said({ sentences }) {
    at("sent").hidden = !sentences.length;
    at("sentences").replaceChildren(...sentences.map((one) => sentence(one, [[say("Take"), "take", say("Make it the text on screen")], [say("Show on the wall"), "accept", ""], [say("Drop"), "drop", ""]])));
  },
  accepted({ sentences }) {
    at("onwall").hidden = !sentences.length;
    at("shown").replaceChildren(...sentences.map((one) => sentence(one, [[say("Take"), "take", say("Make it the text on screen")], [say("Drop"), "drop", ""]])));
  },
  pause({ paused }) {
    const pause = document.querySelector("[data-act=pause], [data-act=go]");
    pause.dataset.act = paused ? "go" : "pause";
    pause.textContent = paused ? say("Go on") : say("Pause");
  },
  people(told) {
    const { joined, answered, asked: open, sentences } = people = told;
    able();
    at("people").textContent = [say("{n} joined", { n: joined }), open && say("{n} answered", { n: answered }), sentences && (sentences === 1 ? say("1 sentence") : say("{n} sentences", { n: sentences }))].filter(Boolean).join(", ");
  },
};

const button = (act) => document.querySelector(`[data-act=${act}]`);

function able() {
  const open = Boolean(asked.id) && !asked.revealed;
  button("reveal").disabled = !open || !(people.answered || people.first);
  button("again").disabled = !open || !people.answered || people.first > 0;
}

/** What the share of right answers suggests. */
function advise({ answered, truth, kind, counts }) {
  if (!answered) return say("Nobody has answered yet.");
  if (kind === "number" || !Array.isArray(truth)) return "";
  const share = truth.reduce((sum, place) => sum + counts[place], 0) / answered;
  const then = share < WEAK ? say("give a hint first") : share > STRONG ? say("reveal and explain") : say("let them discuss, then vote again");
  return say("{share}% right: {advice}.", { share: Math.round(100 * share), advice: then });
}

/** A sentence of the class, with what can be done with it. */
function sentence({ id, words }, acts) {
  const line = document.createElement("li"), text = document.createElement("span");
  text.textContent = words;
  line.append(text, ...acts.map(([name, act, title]) => Object.assign(document.createElement("button"), { textContent: name, title, onclick: () => steer({ act, sentence: id }) })));
  return line;
}

/** The end of the lecture, or what is wrong in words. */
function over(what) {
  const words = typeof what === "string" ? what : "";
  at("presenter").hidden = true;
  at("refused").hidden = !words;
  at("finished").hidden = Boolean(words);
  at("code").textContent = `${code.slice(0, 3)} ${code.slice(3)}`;
  at("why").textContent = words;
  at("student").href = new URL(`room/${code}`, document.baseURI).href;
  state("");
  put("people", "");
  if (!words) ending(at("ended"), what, what.leads === false ? "" : `room/${code}/`);
}

async function begin() {
  let answer;
  try {
    answer = await post("lead", { secret: location.hash.slice(1), home: new URL(".", document.baseURI).pathname });   // without one, the cookie of before counts
  } catch {
    state(say("The server does not answer. Trying again\u2026"));
    return void setTimeout(begin, 2000);
  }
  if (!answer.ok) {
    const { error, ended } = await answer.json();
    return over(ended ?? error);
  }
  history.replaceState(null, "", location.pathname);   // the secret is in a cookie now, and in no history
  const date = Date.parse(answer.headers.get("date") ?? "");
  if (date) ahead = Math.round((Date.now() - date) / 1000 / 2) * 2;   // the header counts in seconds
  at("code").textContent = `${code.slice(0, 3)} ${code.slice(3)}`;
  at("presenter").hidden = false;
  HEARD.plan({});
  const stream = new EventSource(`room/${code}/events?as=lead`);
  stream.onopen = () => state("");
  for (const [topic, hear] of Object.entries(HEARD)) stream.addEventListener(topic, ({ data }) => hear(JSON.parse(data)));
  stream.addEventListener("end", ({ data }) => { stream.close(); over(JSON.parse(data)); });
  stream.onerror = () => {
    state(say("Connection lost. Trying again\u2026"));
    if (stream.readyState === EventSource.CLOSED) setTimeout(begin, 2000);
  };
}

at("presenter").addEventListener("click", ({ target }) => target.dataset.act && steer({ act: target.dataset.act }));
at("end").onclick = () => confirm(say("End the lecture for everybody? What was shown and the counts stay for four hours.")) && steer({ act: "end" });
document.addEventListener("keydown", (event) => {
  const act = KEYS[event.key];
  if (!act || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  if (plan.stops || !act.startsWith("stop")) steer({ act });
});
setInterval(tick, 1000);
able();
begin();
