// A lesson on paper: the tab with the page Lessons sends it (handing.js), nothing goes to the server.
import { draw, place } from "./draw.js";

const ROOM = 4;   // lines to write on
const at = (id) => document.getElementById(id);
const channel = new BroadcastChannel(`atlas.handout.${location.hash.slice(1)}`);
const make = (tag, parent, text = "", className = "") => {
  const made = Object.assign(document.createElement(tag), { textContent: text, className });
  parent.append(made);
  return made;
};

/** One stop; its pictures are drawn where the stop stands, for a chart is as wide as its place. */
function stopOf({ name, says, note, asks, options, ends, pictures, title }, number) {
  const section = make("section", at("stops"));
  make("h2", section, `${number}. ${name}`);
  make("p", section, says, "says");
  const home = make("div", section, "", "pictures");
  if (!pictures.length) make("p", section, `The picture is on the page “${title}” of the atlas.`, "quiet");
  if (note) make("p", section, note, "note");
  if (asks) {
    make("p", section, asks, "asks");
    const list = options.length ? make("ul", section) : null;
    for (const option of options) make("li", list, option);
    if (ends) make("p", section, ends, "quiet");
  }
  const room = make("div", section, "", "room");
  for (let line = 0; line < ROOM; line++) make("div", room);
  return [home, pictures];
}

channel.onmessage = async ({ data: { handout } }) => {
  if (!handout || !at("handout").hidden) return;
  at("handout").hidden = false;
  at("title").textContent = document.title = handout.title;
  at("about").textContent = handout.about;
  const homes = handout.stops.map((stop, i) => stopOf(stop, i + 1));
  for (const [home, pictures] of homes) {
    for (const picture of pictures) {
      place(picture.key, make("div", home));
      for (const [id, how] of Object.entries(picture.parts)) how[0] = handout.parts[id];
      await draw(picture, "");
    }
  }
  at("state").textContent = "";
  at("print").disabled = false;
};
at("print").onclick = () => print();
at("notes").onchange = ({ target }) => document.body.classList.toggle("noted", target.checked);
channel.postMessage({ hello: true });
