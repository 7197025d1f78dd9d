// Keys: rows, turns, thoughts and errors, the ends, /, ?, Escape. Enter is handled by the browser, for the focused element.
import { byId, say } from "./dom.js";
import { showPanel, shownPanel } from "./side.js";
import { nextOf, rowsInView } from "./outline.js";
import { currentRow, stepRow } from "./timeline.js";
import { goTo, rowCount } from "./window.js";

// With the shift key, to the one before.
const NEXT = { n: ["U", "turn"], t: ["t", "thought"], e: ["e", "error"] };

function closePanel() {
  const panel = shownPanel();
  if (panel === "found") {
    byId("search").value = "";
    byId("search-form").requestSubmit();
    showPanel("");
  } else if (panel) byId(`${panel}-button`).click();
}

function escape(target) {
  if (byId("export").open) byId("export").open = false;
  else if (target !== byId("search")) closePanel();
  else if (!target.value) byId("main").focus({ preventScroll: true });
}

// From the row with the focus, if it is on the screen; else from the first row there.
function goOn(key) {
  const [letters, word] = NEXT[key.toLowerCase()];
  const step = key === key.toLowerCase() ? 1 : -1;
  const [first, last] = rowsInView();
  const current = currentRow();
  const n = nextOf(letters, current >= first && current <= last ? current : first - (step > 0 ? 1 : 0), step);
  if (n < 0) say(`There is no ${word} ${step > 0 ? "after" : "before"} this.`);
  else goTo(n);
}

addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
  if (key === "Escape") return escape(target);
  if (target.matches?.("select, input:not([type=radio], [type=checkbox])")) return;
  if (key === "j" || key === "k") {
    byId("follow").checked = false;
    stepRow(key === "j" ? 1 : -1);
  } else if (key.toLowerCase() in NEXT) {
    byId("follow").checked = false;
    goOn(key);
  } else if (key === "Home" || key === "End") goTo(key === "Home" ? 0 : rowCount() - 1);
  else if (key === "/") byId("search").select();
  else if (key === "?") byId("help").showModal();
  else if (key === "Enter" && target.matches(".row")) target.querySelector(".load, .foot summary")?.click();
  else return;
  event.preventDefault();
});
addEventListener("click", ({ target }) => byId("export").contains(target) || (byId("export").open = false));
byId("help-button").addEventListener("click", () => byId("help").showModal());
byId("skip").addEventListener("click", () => byId("main").focus());
byId("close-side").addEventListener("click", closePanel);
