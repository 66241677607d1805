// The link to the window of a handout, and what fills it when it asks.
const lives = new WeakMap();

export default function ({ parentElement, data }) {
  const link = parentElement.querySelector("a"), name = `atlas.handout.${data.name}`;
  link.href = `${data.home}room/handout#${data.name}`;
  lives.get(parentElement)?.close();
  const channel = new BroadcastChannel(name);
  lives.set(parentElement, channel);
  channel.onmessage = ({ data: { hello } }) => { if (hello) channel.postMessage({ handout: data.handout }); };
  return () => channel.close();
}
