// The end of a lecture: what was shown, as links; the exercise sheet; the answers of the room in numbers.
import { drawTally } from "./asking.js";
import { say } from "../../languages/words.js";

const make = (tag, parent, text = "", more = {}) => {
  const made = Object.assign(document.createElement(tag), more);
  made.textContent = text;
  parent.append(made);
  return made;
};

/** Draw the end in `home`; `files` is where the lecturer finds the report and the votes, "" for everybody else. */
export function ending(home, { shown, sheet, votes }, files = "") {
  const link = (parent, to, text, more = {}) => make("a", parent, text, { href: new URL(to, document.baseURI).href, target: "_blank", rel: "noopener", ...more });
  home.replaceChildren();
  home.hidden = false;
  make("h1", home, say("The lecture has ended"));
  make("p", home, say("This page can be opened with the code for four hours. It holds no name and no seat: answers are counts."), { className: "muted" });
  const actions = make("p", home, "", { className: "actions" });
  if (files && (shown.length || votes.length)) link(actions, `${files}report`, say("Download the lecture (HTML)"), { className: "button", target: "" });
  if (files && votes.length) link(actions, `${files}votes`, say("Download the votes (CSV)"), { className: "button", target: "" });
  if (sheet) link(actions, sheet, say("Exercises to print"), { className: "button" });
  link(actions, "course", say("Open the course"), { className: "button" });
  make("h2", home, say("What was shown"));
  if (!shown.length) make("p", home, say("No picture was shown."), { className: "muted" });
  const list = make("ul", home);
  for (const { title, link: to, sentence } of shown) {
    const line = make("li", list);
    link(line, to, title);
    if (sentence) make("span", line, ` \u201c${sentence}\u201d`, { className: "muted" });
  }
  make("h2", home, say("What the room answered"));
  if (!votes.length) make("p", home, say("No question was answered."), { className: "muted" });
  for (const asked of votes) {
    const box = make("section", home);
    box.dataset.asked = "";
    make("h3", box, asked.words);
    drawTally(box, asked);
  }
}
