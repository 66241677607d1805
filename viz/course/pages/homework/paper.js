// A sheet in a frame of its own: it may open the print dialogue, and has no rights in the app around it.
export default function ({ parentElement, data }) {
  const frame = parentElement.querySelector("iframe");
  frame.title = data.title;
  if (frame.srcdoc !== data.page) frame.srcdoc = data.page;
}
