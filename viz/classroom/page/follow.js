// The follower's page and the wall: one stream of events, each topic as it is now.
import { arrange, draw, isDrawn, touch } from "./draw.js";
import { ask, remember } from "./asking.js";
import { ending } from "./ending.js";
import { say, speakPage } from "../../languages/words.js";

speakPage(document.documentElement);
const SILENT = say("The server does not answer. Wait a moment and try again.");

const at = (id) => document.getElementById(id);
const [, typed = "", mode = "follow"] = /\/room(?:\/([^/]*))?(?:\/(wall))?$/.exec(location.pathname) ?? [];
const leads = mode !== "follow";
let code = decodeURIComponent(typed), held = null, view = {};

const state = (words) => { at("state").textContent = words; };
const plain = (words) => words.normalize("NFKC").toUpperCase().replace(/[^\p{L}\p{N}]/gu, "");   // full-width letters are letters; others make a code that no room has

/** Send an object; resolves to "", to what is wrong, in words, or to what is left of a lecture that has ended. */
async function send(what, told) {
  try {
    const answer = await fetch(`room/${encodeURIComponent(code)}/${what}`, { method: "POST", headers: { "Content-Type": "application/json", "Accept-Language": document.documentElement.lang }, body: JSON.stringify(told) });
    if (answer.ok) return "";
    const { error, ended } = await answer.json();
    return ended ?? error;
  } catch {
    return SILENT;
  }
}

const HEARD = {
  view(told) {
    view = told;
    at("lecture").hidden = false;
    const shown = told.invites ? { title: leads ? say("Join the lecture") : say("You have joined"), claim: leads ? "" : say("What the lecturer shows appears here.") } : told;
    for (const name of ["title", "claim", "sentence"]) { at(name).textContent = shown[name] ?? ""; at(name).hidden = !shown[name]; }
    at("way").href = new URL(told.link ?? "", document.baseURI).href;
    at("unseen").hidden = told.pictures.length > 0 || !told.unseen;
    at("invite").classList.toggle("small", !told.invites);
    arrange(at("pictures"), told.pictures);
  },
  picture: (told) => draw(told, code),
  touch: (told) => isDrawn() && touch(told),
  ask: (told) => ask(at("ask"), told, leads ? null : (question, answer) => send("answer", { question, answer })),
  mine: (told) => told.id && remember(told),
  pause({ paused }) { at("paused").hidden = !paused || leads; },
  people({ joined }) { at("joined").textContent = joined === 1 ? say("1 has joined") : say("{n} have joined", { n: joined }); },
  waits({ waits }) { state(waits ? say("The room waits for its server. It goes on by itself.") : usual()); },
  place({ address, qr }) { at("address").textContent = address; at("qr").src = qr; },
  accepted({ sentences }) {
    at("accepted").hidden = !sentences.length;
    at("accepted").querySelector("ul").replaceChildren(...sentences.map(({ words }) => Object.assign(document.createElement("li"), { textContent: words })));
  },
};

const usual = () => held ? say("Looking around alone") : leads ? "" : say("Following");

/** While somebody looks around alone, the lecturer's changes wait. */
function hear(topic, told) {
  if (held && !["pause", "waits", "mine"].includes(topic)) held.set(topic === "picture" ? `picture.${told.key}` : topic, [topic, told]);
  else HEARD[topic](told);
}

function alone(yes) {
  const waiting = held;
  held = yes ? new Map() : null;
  at("look").hidden = yes;
  at("return").hidden = !yes;
  state(usual());
  if (!yes && waiting) for (const [topic, told] of waiting.values()) HEARD[topic](told);
}

function follow() {
  const stream = new EventSource(`room/${encodeURIComponent(code)}/events${leads ? "?as=lead" : ""}`);
  stream.onopen = () => state(usual());
  for (const topic of Object.keys(HEARD)) stream.addEventListener(topic, ({ data }) => hear(topic, JSON.parse(data)));
  stream.addEventListener("end", ({ data }) => { stream.close(); over(JSON.parse(data)); });
  stream.onerror = () => {
    state(say("Connection lost. Trying again\u2026"));
    if (stream.readyState === EventSource.CLOSED) setTimeout(again, 2000);   // refused: the seat, or the room, is gone
  };
}

/** After a refusal: a new seat where the room is still there. */
async function again() {
  const wrong = await enter();
  if (!wrong) return follow();
  if (wrong === SILENT) return setTimeout(again, 2000);
  return over(wrong);
}

/** Leave the room: for its end page, or with what is wrong in words. */
function over(what) {
  const words = typeof what === "string" ? what : "";
  for (const id of ["lecture", "say", "own", "paused", "door", "refused"]) at(id).hidden = true;
  at("invite").hidden = mode !== "wall" || Boolean(words) || !at("qr").src;   // whoever is there may scan it and take the page home
  at("invite").classList.add("small");
  state("");
  if (!words) return ending(at("ended"), what);
  at(leads ? "refused" : "door").hidden = false;
  at(leads ? "why" : "wrong").textContent = words;
  at("student").href = new URL(`room/${encodeURIComponent(code)}`, document.baseURI).href;
}

function enter() {
  if (!leads) return send("join", { door: new URLSearchParams(location.search).get("d") ?? "" });
  return send("lead", { secret: location.hash.slice(1), home: new URL(".", document.baseURI).pathname });   // without one, the cookie of before counts
}

async function begin() {
  document.body.className = mode;
  const wrong = await enter();
  code = plain(code);
  if (wrong) return over(wrong);
  if (leads) history.replaceState(null, "", location.pathname);   // the secret is in a cookie now, and in no history
  at("code").textContent = at("spoken").textContent = `${code.slice(0, 3)} ${code.slice(3)}`;
  at("door").hidden = true;
  at(leads ? "invite" : "say").hidden = false;
  at("own").hidden = leads;
  follow();
}

at("door").onsubmit = (event) => {
  event.preventDefault();
  const asked = plain(at("typed").value);
  if (!asked) at("wrong").textContent = say("This is not a code. A code has 6 letters and digits. Type it as it is on the wall.");
  else location.assign(new URL(`room/${encodeURIComponent(asked)}`, document.baseURI));
};
at("say").onsubmit = async (event) => {
  event.preventDefault();
  const wrong = await send("say", { sentence: at("written").value });
  if (wrong?.shown) return over(wrong);
  at("sent").textContent = wrong || say("Sent. Only the lecturer sees it, until it is accepted for the wall. A second one replaces it.");
  if (!wrong) at("written").value = "";
};
at("look").onclick = () => alone(true);
at("return").onclick = () => alone(false);
if (code) { at("typed").value = code; begin(); } else at("door").hidden = false;
