// The follower's page, the wall and the second device: one stream of events, each topic as it is now.
import { arrange, draw, isDrawn, touch } from "./draw.js";
import { ask } from "./asking.js";

const at = (id) => document.getElementById(id);
const [, typed = "", mode = "follow"] = /\/room(?:\/([^/]*))?(?:\/(wall|remote))?$/.exec(location.pathname) ?? [];
const leads = mode !== "follow";
let code = decodeURIComponent(typed), held = null, view = {};

const state = (words) => { at("state").textContent = words; };
const plain = (words) => words.toUpperCase().replace(/[^A-Z0-9]/g, "");

/** Send an object; resolves to "" or to what is wrong, in words. */
async function send(what, told) {
  try {
    const answer = await fetch(`room/${encodeURIComponent(code)}/${what}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(told) });
    return answer.ok ? "" : (await answer.json()).error;
  } catch {
    return "The server does not answer. Wait a moment and try again.";
  }
}

const HEARD = {
  view(told) {
    view = told;
    at("lecture").hidden = false;
    const shown = told.invites ? { title: leads ? "Join the lecture" : "You have joined", claim: leads ? "" : "What the lecturer shows appears here." } : told;
    for (const name of ["title", "claim", "sentence"]) { at(name).textContent = shown[name] ?? ""; at(name).hidden = !shown[name]; }
    at("way").href = new URL(told.link ?? "", document.baseURI).href;
    at("unseen").hidden = told.pictures.length > 0 || !told.unseen;
    at("invite").classList.toggle("small", !told.invites);
    arrange(at("pictures"), told.pictures);
  },
  picture: (told) => draw(told, code),
  touch: (told) => isDrawn() && touch(told),
  ask: (told) => ask(at("ask"), told, leads ? null : (question, answer) => send("answer", { question, answer })),
  pause({ paused }) {
    at("paused").hidden = !paused || leads;
    const button = document.querySelector("[data-act=pause], [data-act=go]");
    button.dataset.act = paused ? "go" : "pause";
    button.textContent = paused ? "Go on" : "Pause";
  },
  people({ joined, answered, asked, first, sentences }) {
    at("joined").textContent = joined === 1 ? "1 has joined" : `${joined} have joined`;
    at("counted").textContent = `${joined} joined${asked ? `, ${answered} answered${first ? " again" : ""}` : ""}${sentences ? `, ${sentences} ${sentences === 1 ? "sentence" : "sentences"}` : ""}`;
  },
  waits({ waits }) { state(waits ? "The room waits for its server. It goes on by itself." : usual()); },
  place({ address, qr }) { at("address").textContent = address; at("qr").src = qr; },
  said({ sentences }) {
    at("sentences").replaceChildren(...sentences.map((words, place) => {
      const line = document.createElement("li"), button = document.createElement("button");
      line.append(words, button);
      button.textContent = "Take";
      button.onclick = () => send("steer", { act: "take", place });
      return line;
    }));
  },
};

const usual = () => held ? "Looking around alone" : leads ? "" : "Following";

/** Who looks around alone keeps what he sees; what the lecturer does meanwhile waits. */
function hear(topic, told) {
  if (held && topic !== "pause" && topic !== "waits") held.set(topic === "picture" ? `picture.${told.key}` : topic, [topic, told]);
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
  stream.addEventListener("end", () => { stream.close(); over("The lecture has ended. Everything that was sent is forgotten."); });
  stream.onerror = () => {
    state("Connection lost. Trying again\u2026");
    if (stream.readyState === EventSource.CLOSED) setTimeout(again, 2000);   // refused: the seat, or the room, is gone
  };
}

/** After a refusal: a new seat where the room is still there. */
async function again() {
  const wrong = await enter();
  if (!wrong) return follow();
  if (/server does not answer/.test(wrong)) return setTimeout(again, 2000);
  return over(wrong);
}

function over(words) {
  for (const id of ["lecture", "say", "own", "paused", "invite", "remote"]) at(id).hidden = true;
  state("");
  at("door").hidden = leads;
  at("wrong").textContent = words;
  if (leads) state(words);
}

function enter() {
  if (!leads) return send("join", { door: new URLSearchParams(location.search).get("d") ?? "" });
  return send("lead", { secret: location.hash.slice(1) });   // without one, the cookie of before counts
}

async function begin() {
  document.body.className = mode;
  const wrong = await enter();
  if (wrong) return over(wrong);
  code = plain(code);
  if (leads) history.replaceState(null, "", location.pathname);   // the secret is in a cookie now, and in no history
  at("code").textContent = at("spoken").textContent = `${code.slice(0, 3)} ${code.slice(3)}`;
  at("door").hidden = true;
  at(mode === "wall" ? "invite" : mode === "remote" ? "remote" : "say").hidden = false;
  at("own").hidden = leads;
  follow();
}

at("door").onsubmit = (event) => {
  event.preventDefault();
  location.assign(new URL(`room/${encodeURIComponent(plain(at("typed").value))}`, document.baseURI));
};
at("say").onsubmit = async (event) => {
  event.preventDefault();
  const wrong = await send("say", { sentence: at("written").value });
  at("sent").textContent = wrong || "Sent to the lecturer, who alone reads it. A second one replaces it.";
  if (!wrong) at("written").value = "";
};
at("remote").onclick = ({ target }) => target.dataset.act && send("steer", { act: target.dataset.act });
at("look").onclick = () => alone(true);
at("return").onclick = () => alone(false);
if (code) { at("typed").value = code; begin(); } else at("door").hidden = false;
