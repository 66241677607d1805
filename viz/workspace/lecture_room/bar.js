// The lecturer's bar: who is there, reveal, pause; what is touched goes to the room, what a second device asks for is done here.
const lives = new WeakMap();
const EVENTS = { "attention-atlas-hover": "hover", "attention-atlas-word": "word" };
const BETWEEN = 80;   // milliseconds from one touch that is sent to the next

export default function ({ parentElement, data, setTriggerValue }) {
  if (self !== top) return undefined;   // until the server knows of the frame (stage.js)
  speak(parentElement, data.words);
  const bar = parentElement.querySelector(".room-bar"), part = (name) => bar.querySelector(`[data-part=${name}]`);
  const base = new URL(data.home, location.origin).href, room = `${base}room/${data.code}`;
  const before = lives.get(bar);
  if (before?.code === data.code) { Object.assign(before, { setTriggerValue, news: data.news, own: data.own }); return undefined; }
  before?.stop();
  const life = { code: data.code, setTriggerValue, news: data.news, own: data.own, heard: "" };
  lives.set(bar, life);
  const post = (what, told) => fetch(`${room}/${what}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(told) });
  const steer = (told) => post("steer", told).catch(() => {});

  let waiting = null, late = 0, last = -Infinity;
  const point = ({ type, detail: { group, at } }) => {
    waiting = { act: "touch", what: EVENTS[type], group, at };
    late ||= setTimeout(() => { late = 0; last = performance.now(); steer(waiting); }, Math.max(0, last + BETWEEN - performance.now()));
  };
  for (const name of Object.keys(EVENTS)) document.addEventListener(name, point);

  const key = (name) => document.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));
  const acts = {
    next: () => key("ArrowRight"), back: () => key("ArrowLeft"), stop_next: () => key("PageDown"), stop_back: () => key("PageUp"),
    reveal: () => life.setTriggerValue("reveal", Date.now()), take: ({ sentence }) => life.setTriggerValue("take", sentence),
  };
  let stream = null, gone = false;
  const hear = {
    ask({ id, own, revealed }) {   // taken back or voted on again from another device: the page shows it so
      const now = own ? `${id} ${revealed ? "revealed" : "open"}` : "";
      if (now !== life.own) { life.own = now; life.setTriggerValue("news", Date.now()); }
    },
    people({ joined, answered, asked, first, sentences }) {
      part("people").textContent = say("{n} joined", { n: joined });
      part("answered").textContent = first ? say("{n} of {all} answered again", { n: answered, all: first }) : say("{n} answered", { n: answered });
      part("again").hidden = !asked || !answered || first > 0;
      part("answered").hidden = part("reveal").hidden = !asked;
      part("sentences").textContent = sentences === 1 ? say("1 sentence") : say("{n} sentences", { n: sentences });
      part("sentences").hidden = !sentences;
      part("reveal").disabled = !answered && !first;
      const now = `${joined} ${sentences}`;
      if (life.news && life.heard && life.heard !== now) life.setTriggerValue("news", Date.now());
      life.heard = now;
    },
    pause({ paused }) { part("pause").setAttribute("aria-pressed", String(paused)); part("pause").textContent = paused ? say("Go on") : say("Pause"); },
    waits({ waits }) { part("waits").hidden = !waits; },
    command: (told) => acts[told.act]?.(told),
    end() { stream?.close(); life.setTriggerValue("news", Date.now()); },
  };
  post("lead", { secret: data.secret, home: data.home }).then(({ ok }) => {
    if (!ok || gone) return;
    stream = new EventSource(`${room}/events?as=lead`);
    for (const [name, act] of Object.entries(hear)) stream.addEventListener(name, (event) => act(JSON.parse(event.data)));
    bar.dataset.live = "1";
  });
  part("code").textContent = `${data.code.slice(0, 3)} ${data.code.slice(3)}`;
  part("control").href = `${room}/presenter`;
  part("ask").onclick = () => life.setTriggerValue("ask", Date.now());
  part("reveal").onclick = acts.reveal;
  part("again").onclick = () => steer({ act: "again" });
  part("pause").onclick = () => steer({ act: part("pause").getAttribute("aria-pressed") === "true" ? "go" : "pause" });
  life.stop = () => {
    gone = true;
    stream?.close();
    for (const name of Object.keys(EVENTS)) document.removeEventListener(name, point);
  };
  return () => { if (!bar.isConnected) { life.stop(); lives.delete(bar); } };
}
