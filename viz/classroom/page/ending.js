// The end of a lecture: what was shown, as links; the exercise sheet; the answers of the room in numbers.
import { drawTally } from "./asking.js";

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
  make("h1", home, "The lecture has ended");
  make("p", home, "This page can be opened with the code for four hours. It holds no name and no seat: answers are counts.", { className: "muted" });
  const actions = make("p", home, "", { className: "actions" });
  if (files && (shown.length || votes.length)) link(actions, `${files}report`, "Download the lecture (HTML)", { className: "button", target: "" });
  if (files && votes.length) link(actions, `${files}votes`, "Download the votes (CSV)", { className: "button", target: "" });
  if (sheet) link(actions, sheet, "Exercises to print", { className: "button" });
  link(actions, "course", "Open the course", { className: "button" });
  make("h2", home, "What was shown");
  if (!shown.length) make("p", home, "No picture was shown.", { className: "muted" });
  const list = make("ul", home);
  for (const { title, link: to, sentence } of shown) {
    const line = make("li", list);
    link(line, to, title);
    if (sentence) make("span", line, ` \u201c${sentence}\u201d`, { className: "muted" });
  }
  make("h2", home, "What the room answered");
  if (!votes.length) make("p", home, "No question was answered.", { className: "muted" });
  for (const asked of votes) {
    const box = make("section", home);
    box.dataset.asked = "";
    make("h3", box, asked.words);
    drawTally(box, asked);
  }
}
