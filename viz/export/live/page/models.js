// The models of the page: each is loaded when it is first asked for, and runs beside the page.
import { say } from "../../../languages/words.js";

const { version } = JSON.parse(document.getElementById("data-live").textContent), waiting = new Map(), opened = new Map();

/** What the script of a model calls: no page of a stick may fetch, but it may have a script. */
globalThis.liveModel = (name, text) => waiting.get(name)?.(text);

function scripted(name, url) {
  return new Promise((done, failed) => {
    waiting.set(name, done);
    const script = Object.assign(document.createElement("script"), { src: url, charset: "x-user-defined" });
    script.onerror = () => failed(new Error(say("{file} is missing", { file: url })));
    script.onload = () => script.remove();
    document.head.append(script);
  });
}

async function fetched(url) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url}: ${answer.status}`);
  return answer.arrayBuffer();
}

/** (asked) -> answer: by a worker, whose text is in the page since no page of a stick may have one from a file; else by the page. */
function begun() {
  const address = URL.createObjectURL(new Blob([document.getElementById("data-engine").textContent], { type: "text/javascript" }));
  const inPage = async (asked) => { if (!globalThis.liveAnswer) await import(address); return globalThis.liveAnswer(asked); };
  return new Promise((done) => {
    let worker;
    try { worker = new Worker(address); } catch { done(inPage); return; }
    const open = new Map();
    let last = 0;
    worker.onmessage = ({ data: { id, ...answer } }) => {
      const [yes, no] = open.get(id);
      open.delete(id);
      if (answer.failed) no(new Error(answer.failed)); else yes(answer);
    };
    worker.onerror = (event) => { event.preventDefault(); done(inPage); };
    const ask = (asked) => new Promise((yes, no) => { open.set(++last, [yes, no]); worker.postMessage({ id: last, ...asked }); });
    ask({}).then(() => done(ask));
  });
}

let asks = null;
const ask = async (asked) => (await (asks ??= begun()))(asked);

/** Whether a model is here already. */
export const isOpen = (name) => opened.get(name) === true;

async function open(name) {
  const url = `models/${name}.js?${version}`;
  await ask({ name, content: await (location.protocol === "file:" ? scripted(name, url) : fetched(url)) });
  await ask({ name, text: "A", edits: {} });   // the browser compiles its loops now, not at the first sentence
  opened.set(name, true);
}

/** The run of a text, {attentions, ...} or {refused, values}; `edits` are {zero, masks} as networks.js reads them. */
export async function run(name, text, edits) {
  if (!opened.has(name)) opened.set(name, open(name).catch((error) => { opened.delete(name); throw error; }));
  await opened.get(name);
  return ask({ name, text, edits });
}
