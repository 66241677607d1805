// A sheet in a frame in which no script runs; the button above it opens the frame's print dialogue.
export default function ({ parentElement, data }) {
  const frame = parentElement.querySelector("iframe");
  const button = parentElement.querySelector("button");
  frame.title = data.title;
  button.textContent = data.print;
  button.onclick = () => frame.contentWindow.print();
  if (frame.srcdoc !== data.page) frame.srcdoc = data.page;
}
