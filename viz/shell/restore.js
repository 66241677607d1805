// "Add to a lesson", "Present", "Start over": a button, and the R key anywhere outside a text box; the list of keys, which lies in the stage (keys.html).
const listening = new WeakMap();

const typing = (event) => {
  const target = event.composedPath()[0];
  return target instanceof Element && target.closest("input, textarea, select, [contenteditable='true'], dialog") !== null;
};

export default function ({ parentElement, data, setTriggerValue }) {
  speak(parentElement, data?.words);
  const button = parentElement.querySelector("[data-act=restore]");
  for (const other of parentElement.querySelectorAll("button:not([data-act=lesson])")) other.hidden = Boolean(data?.still);
  parentElement.querySelector("[data-act=lesson]").onclick = () => setTriggerValue("lesson", Date.now());
  parentElement.querySelector("[data-act=present]").onclick = () => setTriggerValue("present", true);
  parentElement.querySelector("[data-act=keys]").onclick = () => document.querySelector("[data-keys]")?.showModal();
  const go = () => setTriggerValue("restore", true);
  const press = (event) => {
    if (data?.still || (event.key !== "r" && event.key !== "R")) return;
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || typing(event)) return;
    event.preventDefault();
    event.stopImmediatePropagation();   // Streamlit would run the page once more
    go();
  };
  document.removeEventListener("keydown", listening.get(button), true);
  document.addEventListener("keydown", press, true);
  listening.set(button, press);
  button.onclick = go;
  return () => document.removeEventListener("keydown", press, true);
}
