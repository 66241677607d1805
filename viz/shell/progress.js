// Progress stays in this browser: what the session keeps is written to its storage, and a new session is handed what lies there, once.

const PLACE = "atlas.progress", MOST = 100_000;
let session = "";

export default function ({ data, setTriggerValue }) {
  try {
    const before = localStorage.getItem(PLACE) ?? "";
    if (data.session !== session) {
      session = data.session;
      if (!data.restored && before && before.length <= MOST) return setTriggerValue("stored", before);
    }
    if (!data.progress) localStorage.removeItem(PLACE);
    else if (data.progress !== before) localStorage.setItem(PLACE, data.progress);
  } catch { /* a browser that stores nothing: progress ends with the session */ }
}
