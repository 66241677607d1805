// A question before the room: what can be touched before the reveal, how the answers are spread after it.
const make = (tag, className, parent, text) => {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  parent?.append(made);
  return made;
};
const given = new Map();   // question id -> what this browser answered

/** Draw the question in `home`; `send(answer)` sends one, or is null on the wall. */
export function ask(home, asked, send) {
  home.hidden = !asked.id;
  home.replaceChildren();
  if (!asked.id) return;
  make("h2", "", home, asked.words);
  if (asked.revealed) return spread(home, asked);
  if (!send) return void make("p", "muted", home, "Answer on your phone. The answers are shown when all are in.");
  const told = make("p", "muted");
  told.setAttribute("role", "status");
  const keep = async (answer) => {
    const before = given.get(asked.id);
    given.set(asked.id, answer);
    const wrong = await send(asked.id, answer);
    if (wrong) given.set(asked.id, before);
    told.textContent = wrong || "Sent. You can change it until the answers are shown.";
    press();
  };
  let press = () => {};
  if (asked.kind === "number") number(home, asked, keep);
  else {
    const cell = asked.kind === "cell", rows = (cell ? ["Row (query)", "Column (key)"] : [""]).map((name) => {
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
  if (given.has(asked.id)) told.textContent = "Sent. You can change it until the answers are shown.";
}

function number(home, asked, keep) {
  const row = make("div", "row", home), slider = make("input", "", row), label = make("output", "", row), button = make("button", "primary", row, "Send");
  const whole = Number.isInteger(asked.low) && Number.isInteger(asked.high) && asked.high - asked.low >= 10;
  Object.assign(slider, { type: "range", min: asked.low, max: asked.high, step: whole ? 1 : (asked.high - asked.low) / 100 });
  slider.value = given.get(asked.id) ?? (asked.low + asked.high) / 2;
  slider.setAttribute("aria-label", asked.words);
  const show = () => { label.textContent = `${short(Number(slider.value))} ${asked.unit}`; };
  slider.addEventListener("input", show);
  button.addEventListener("click", () => keep(Number(slider.value)));
  show();
}

const short = (value) => String(Number(value.toPrecision(3)));

function spread(home, asked) {
  const all = asked.answered, bars = make("div", "bars", home), truth = [asked.truth ?? []].flat();
  const line = (name, count, right) => {
    make("span", `name${right ? " right" : ""}`, bars, right ? `${name} \u2713` : name);
    make("i", "", make("span", "bar", bars)).style.width = `${all ? (100 * count) / all : 0}%`;
    make("span", "", bars, `${count}${all ? ` (${Math.round((100 * count) / all)} %)` : ""}`);
  };
  if (asked.kind === "number") asked.counts.forEach((count, i) => {
    const last = i === asked.counts.length - 1, value = truth[0];
    const right = truth.length > 0 && value >= asked.edges[i] && (value < asked.edges[i + 1] || last);
    line(`${short(asked.edges[i])} to ${short(asked.edges[i + 1])}`, count, right);
  });
  else if (asked.kind === "cell") for (const [row, column, count] of [...asked.cells].sort((a, b) => b[2] - a[2]).slice(0, 12)) line(`${asked.options[row]} \u2192 ${asked.options[column]}`, count, false);
  else asked.options.forEach((option, place) => { if (asked.kind === "choice" || asked.counts[place] || truth.includes(place)) line(option, asked.counts[place], truth.includes(place)); });
  const answers = all === 1 ? "1 answer" : `${all} answers`, median = typeof asked.median === "number" ? `, median ${short(asked.median)} ${asked.unit}` : "";
  const right = asked.kind === "number" && truth.length ? ` It is ${short(truth[0])} ${asked.unit}.` : "";
  make("p", "muted", home, `${answers}${median}.${right}`);
  if (asked.why) make("p", "", home, asked.why);
}
