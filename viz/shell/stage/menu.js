// The menu of a narrow window. Streamlit shuts it behind a choice only in a browser that calls itself a phone's, and opens it again
// after a reload where it was open before; here it shuts in every narrow window, and each visit begins with it shut.

const CHOICE = '[data-testid="stSidebarNavLink"]', SHUT = '[data-testid="stSidebarCollapseButton"] button', KEPT = "stSidebarCollapsed-";

function shutBehind(event) {
  if (event.target instanceof Element && event.target.closest(CHOICE)) setTimeout(() => document.querySelector(SHUT)?.click());   // after Streamlit's own answer
}

function forgetOpen() {
  for (const name of Object.keys(localStorage)) if (name.startsWith(KEPT)) localStorage.removeItem(name);
}

/** Shuts the menu behind each choice; gives what ends it. */
function keepShut() {
  document.addEventListener("click", shutBehind, true);
  addEventListener("pagehide", forgetOpen);
  return () => { document.removeEventListener("click", shutBehind, true); removeEventListener("pagehide", forgetOpen); };
}
