// A question before the room: what can be touched before the reveal, how many gave each answer after it.
import { say, writeNumber } from "../../languages/words.js";

const make = (tag, className, parent, text) => {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  parent?.append(made);
  return made;
};
const given = new Map(), firsts = new Map();   // question id -> what this browser answered, and in the first vote

/** Note the answers that the server has of this seat, so that they are marked after a reload, too. */
export function remember({ id, answer, first }) {
  if (answer !== undefined) given.set(id, answer);
  if (first !== undefined) firsts.set(id, first);
}

/** The answer of this browser; undefined for none. */
export const answerOf = (id) => given.get(id);

/** Forget an answer, so that the question is open again. */
export function forget(id) {
  given.delete(id);
}

/** Whether the answer of this browser is right. */
export const wasRight = (asked) => isRight(asked, given.get(asked.id)) === true;

/** Write a text of a question, its letters with an index or a power set as on the lecturer's page. */
export function typeset(element, asked, name) {
  const parts = (asked.typeset?.[name] ?? [[asked[name], ""]]).map(([words, how]) => how ? make(how, "", null, words) : words);
  element.append(...parts);
}

/** Draw the question in `home`; `send(answer)` sends one, or is null on the wall. */
export function ask(home, asked, send) {
  home.hidden = !asked.id;
  home.replaceChildren();
  if (!asked.id) return;
  typeset(make("h2", "", home), asked, "words");
  if (asked.again && !asked.revealed) make("p", "", home, say("Discuss it with your neighbours, then answer again."));
  if (asked.revealed) return drawTally(home, asked);
  if (!send) {
    const row = asked.kind === "choice" && make("div", "options", home);
    if (row) for (const option of asked.options) make("span", "option", row, option);
    if (asked.kind === "number") make("p", "", home, say("{low} to {high}", { low: short(asked.low), high: measured(asked, asked.high) }));
    return void make("p", "muted", home, say("Answer on your phone. The answers are shown after the vote."));
  }
  const told = make("p", "muted");
  told.setAttribute("role", "status");
  const keep = async (answer) => {
    const before = given.get(asked.id);
    given.set(asked.id, answer);
    const wrong = await send(asked.id, answer);
    if (wrong) given.set(asked.id, before);
    told.textContent = wrong || say("Sent. You can change it until the answers are shown.");
    press();
  };
  let press = () => {};
  if (asked.kind === "number") number(home, asked, keep);
  else if (asked.kind === "touch") make("button", "primary", home, say("Show the answer")).addEventListener("click", () => keep(0));
  else {
    const cell = asked.kind === "cell", rows = (cell ? [say("Row (query)"), say("Column (key)")] : [""]).map((name) => {
      if (name) make("p", "muted", home, name);
      const row = make("div", asked.kind === "choice" ? "options" : "options words", home);
      return asked.options.map((option) => make("button", "", row, option));
    });
    const now = () => [given.get(asked.id) ?? null].flat();
    const half = [...now(), null].slice(0, 2);
    press = () => rows.forEach((row, side) => row.forEach((button, place) => button.setAttribute("aria-pressed", String((cell ? half : now())[side] === place))));
    rows.forEach((row, side) => row.forEach((button, place) => button.addEventListener("click", () => {
      if (!cell) return keep(place);
      half[side] = place;
      press();
      if (half.every((one) => one !== null)) keep([...half]);
    })));
    press();
  }
  home.append(told);
  if (given.has(asked.id)) told.textContent = say("Sent. You can change it until the answers are shown.");
}

function number(home, asked, keep) {
  const row = make("div", "row", home), slider = make("input", "", row), label = make("output", "", row), button = make("button", "primary", row, asked.commit ?? say("Send"));
  const whole = Number.isInteger(asked.low) && Number.isInteger(asked.high) && asked.high - asked.low >= 10;
  Object.assign(slider, { type: "range", min: asked.low, max: asked.high, step: whole ? 1 : (asked.high - asked.low) / 100 });
  slider.value = given.get(asked.id) ?? (asked.low + asked.high) / 2;
  slider.setAttribute("aria-label", asked.words);
  const show = () => { label.textContent = measured(asked, Number(slider.value)); };
  slider.addEventListener("input", show);
  button.addEventListener("click", () => keep(Number(slider.value)));
  show();
}

/** A number as the lecturer's page has it: whole ones in full, others in three digits; a share of `whole` is never rounded to nothing or to all. */
function short(value, whole = 1) {
  const edge = whole / 1000;
  if (Number.isInteger(value)) return String(value);
  if (value > 0 && value < edge) return say("under {n}", { n: writeNumber(String(edge)) });
  if (value > whole - edge && value < whole) return say("over {n}", { n: writeNumber(String(Number((whole - edge).toPrecision(3)))) });
  return writeNumber(String(Number(value.toPrecision(3))));
}
/** A number with the unit of the question; percent without a space before it. */
const measured = ({ unit }, value) => unit.startsWith("%") ? `${short(value, 100)}${writeNumber("%")}${unit.slice(1)}` : `${short(value)} ${unit}`.trim();

/** How the discussion changed the answers of those who voted twice. */
const changes = (counts) => say("Of {both} who voted twice, {to_right} changed from wrong to right and {to_wrong} from right to wrong.", counts);

const same = (one, other) => one !== undefined && String(one) === String(other);   // pairs of a cell too

/** Whether an answer is right; undefined where nothing is. */
function isRight(asked, answer) {
  if (asked.truth === null || asked.truth === undefined || asked.kind === "cell") return undefined;
  return asked.kind === "number" ? Math.abs(answer - asked.truth) <= asked.near + 1e-9 : asked.truth.includes(answer);
}

/** An answer in words. */
const worded = (asked, answer) => asked.kind === "number" ? measured(asked, answer) : [answer].flat().map((place) => say("\u201c{answer}\u201d", { answer: asked.options[place] })).join(" \u2192 ");

/** What this browser answered, and whether it was right. */
function verdict(home, asked) {
  const own = given.get(asked.id), first = firsts.get(asked.id);
  if (own === undefined || asked.kind === "touch") return;
  const right = isRight(asked, own), before = first !== undefined && !same(first, own) ? say(", first {answer}", { answer: worded(asked, first) }) : "";
  const said = right === undefined ? "" : right ? say(" That is right.") : say(" That is not right.");
  make("p", "verdict", home, say("You answered {answer}.", { answer: worded(asked, own) + before }) + said).dataset.right = String(right ?? "");
}

/** Draw a question that one reader alone has answered: the answer, the right one, and why. */
export function judge(home, asked) {
  home.hidden = false;
  home.replaceChildren();
  typeset(make("h2", "", home), asked, "words");
  verdict(home, asked);
  const own = given.get(asked.id);
  if (asked.kind === "number") make("p", "", home, say("It is {answer}.", { answer: measured(asked, asked.truth) }));
  else {
    const row = make("div", "options", home);
    asked.options.forEach((option, place) => {
      const right = asked.truth?.includes(place) ?? true;
      const box = make("span", "option", row, right ? `${option} \u2713` : option);
      box.dataset.right = String(right);
      if (own === place && asked.kind !== "touch") make("span", "mine", box, say(" \u25c2 you"));
    });
  }
  if (asked.why) typeset(make("p", "", home), asked, "why");
}

/** Draw how many gave each answer, with those of this browser marked. */
export function drawTally(home, asked) {
  verdict(home, asked);
  const own = given.get(asked.id);
  const votes = [...(asked.before ? [asked.before] : []), asked], truth = [asked.truth ?? []].flat();
  if (asked.before) make("p", "muted", home, say("Above the first vote, below the second, after the discussion."));
  const bars = make("div", "bars", home);
  const line = (name, counts, right, mine = false) => {
    const label = make("span", `name${right ? " right" : ""}`, bars, right ? `${name} \u2713` : name);
    if (mine) make("span", "mine", label, say(" \u25c2 you"));
    const shares = make("span", "votes", bars), said = make("span", "", bars);
    votes.forEach(({ answered }, vote) => {
      const share = answered ? (100 * counts[vote]) / answered : 0;
      make("i", vote < votes.length - 1 ? "first" : "", make("span", "bar", shares)).style.width = `${share}%`;
      make("span", "count", said, `${counts[vote]}${answered ? ` (${writeNumber(`${Math.round(share)}%`)})` : ""}`);
    });
  };
  const counted = (place) => votes.map(({ counts }) => counts[place]);
  const unit = asked.unit?.startsWith("%") ? `${writeNumber("%")}${asked.unit.slice(1)}` : ` ${asked.unit ?? ""}`.trimEnd(), edge = (value) => writeNumber(String(Number(value.toPrecision(6))));
  if (asked.kind === "number") asked.counts.forEach((_, i) => {
    const last = i === asked.counts.length - 1, value = truth[0];
    const right = truth.length > 0 && value >= asked.edges[i] && (value < asked.edges[i + 1] || last);
    line(say("{low} to {high}", { low: edge(asked.edges[i]), high: `${edge(asked.edges[i + 1])}${unit}` }), counted(i), right, own >= asked.edges[i] && (own < asked.edges[i + 1] || last));
  });
  else if (asked.kind === "cell") {
    const at = (vote, row, column) => vote.cells.find(([r, c]) => r === row && c === column)?.[2] ?? 0;
    for (const [row, column] of [...asked.cells].sort((a, b) => b[2] - a[2]).slice(0, 12)) line(`${asked.options[row]} \u2192 ${asked.options[column]}`, votes.map((vote) => at(vote, row, column)), false, same(own, [row, column]));
  } else asked.options.forEach((option, place) => { if (asked.kind === "choice" || counted(place).some(Boolean) || truth.includes(place)) line(option, counted(place), truth.includes(place), own === place); });
  const all = asked.answered, answers = all === 1 ? say("1 answer") : say("{n} answers", { n: all }), median = typeof asked.median === "number" ? say(", median {value}", { value: measured(asked, asked.median) }) : "";
  const right = asked.kind === "number" && truth.length ? ` ${say("It is {answer}.", { answer: measured(asked, truth[0]) })}` : "";
  make("p", "muted", home, `${answers}${median}.${right}`);
  if (asked.changed) make("p", "changed", home, changes(asked.changed));
  if (asked.why) typeset(make("p", "", home), asked, "why");
}
