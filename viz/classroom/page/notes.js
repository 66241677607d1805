// The lecturer's notes in a window of their own, without a room: the tab that presents sends them (player.js), nothing goes to the server.
import { say, speakPage } from "../../languages/words.js";

speakPage(document.documentElement);
const at = (id) => document.getElementById(id);
const channel = new BroadcastChannel(`atlas.lesson.${location.hash.slice(1)}`);
const skip = (optional) => (optional ? say(" (may be skipped)") : "");

const show = (id, words) => { at(id).textContent = words; at(id).hidden = !words; };

channel.onmessage = ({ data: { stop } }) => {
  if (stop === undefined) return;   // what another window of notes asks for
  at("notes").hidden = !stop;
  at("state").textContent = stop ? "" : say("No lesson is running.");
  if (!stop) return;
  show("clock", stop.run);
  show("plan", stop.plan);
  for (const id of ["clock", "plan"]) at(id).classList.toggle("late", stop.late);
  show("where", say("{title}: stop {n} of {total}", { title: stop.title, n: stop.at + 1, total: stop.stops.length }));
  show("name", stop.stops[stop.at] + skip(stop.optional));
  show("note", stop.note);
  show("asks", stop.question ? say("Question: {question}", { question: stop.question }) : "");
  show("coming", stop.next ? stop.next.name + skip(stop.next.optional) : stop.forward ? say("The end: what was shown, exercises, answers") : say("The lesson is over."));
  show("claim", stop.next?.claim ?? "");
  document.querySelector("[data-go='-1']").disabled = !stop.back;
  document.querySelector("[data-go='1']").disabled = !stop.forward;
};

const go = (by) => channel.postMessage({ go: by });
for (const button of document.querySelectorAll("[data-go]")) button.onclick = () => go(Number(button.dataset.go));
addEventListener("keydown", (event) => {
  const by = { PageDown: 1, PageUp: -1 }[event.key];
  if (!by || event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
  event.preventDefault();
  go(by);
});
channel.postMessage({ hello: true });
