// A page in a frame of another site: it tells the page around it how high it is, and its link opens this view in the app.
const OWN = ["embed", "embed_options"];   // what is Streamlit's word for a page in a frame
const REST = 80;   // milliseconds: a picture that is being laid out has several heights
const watching = new WeakMap();

/** The address of this view in the app itself. */
function address() {
  const here = new URL(location.href);
  for (const name of OWN) here.searchParams.delete(name);
  return here.href;
}

/** Sends the height of `page` when it has changed and stays so: nothing but a number, so that whoever shows the frame may read it. */
function tellHeight(page) {
  let sent = 0, later;
  const send = () => {
    const height = Math.ceil(page.getBoundingClientRect().height);
    if (height === sent) return;
    sent = height;
    parent.postMessage({ source: "attention-atlas", height }, "*");
  };
  const watch = new ResizeObserver(() => { clearTimeout(later); later = setTimeout(send, REST); });
  watch.observe(page);
  return () => { watch.disconnect(); clearTimeout(later); };
}

export default function ({ parentElement, data }) {
  speak(parentElement, data?.words);
  const link = parentElement.querySelector("[data-embed]"), page = document.querySelector('[data-testid="stMainBlockContainer"]');
  const point = () => { link.href = address(); };
  for (const touch of ["pointerenter", "pointerdown", "focus"]) link.addEventListener(touch, point);   // a picture changes the address without a run
  point();
  watching.get(link)?.();
  watching.set(link, tellHeight(page));
  return () => { watching.get(link)?.(); watching.delete(link); };
}
