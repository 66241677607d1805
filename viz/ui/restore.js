// "Present", and "Start over": a button, and the R key anywhere outside a text box.
const listening = new WeakMap();

const typing = (event) => {
  const target = event.composedPath()[0];
  return target instanceof Element && target.closest("input, textarea, select, [contenteditable='true']") !== null;
};

export default function ({ parentElement, setTriggerValue }) {
  calmHistory();
  const button = parentElement.querySelector("[data-act=restore]");
  parentElement.querySelector("[data-act=present]").onclick = () => setTriggerValue("present", true);
  const go = () => setTriggerValue("restore", true);
  const press = (event) => {
    if (event.key !== "r" && event.key !== "R") return;
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || typing(event)) return;
    go();
  };
  document.removeEventListener("keydown", listening.get(button));
  document.addEventListener("keydown", press);
  listening.set(button, press);
  button.onclick = go;
  return () => document.removeEventListener("keydown", press);
}
