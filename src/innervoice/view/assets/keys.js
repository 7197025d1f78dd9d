// Keys: j and k, /, ?, Escape. Enter is handled by the browser, for the focused element.
import { byId } from "./dom.js";
import { showPanel, shownPanel } from "./side.js";
import { stepRow } from "./timeline.js";

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

addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
  if (key === "Escape") return escape(target);
  if (target.matches?.("select, input:not([type=radio], [type=checkbox])")) return;
  if (key === "j" || key === "k") {
    byId("follow").checked = false;
    stepRow(key === "j" ? 1 : -1);
  } else if (key === "/") byId("search").select();
  else if (key === "?") byId("help").showModal();
  else if (key === "Enter" && target.matches(".row")) target.querySelector(".load, .foot summary")?.click();
  else return;
  event.preventDefault();
});
addEventListener("click", ({ target }) => byId("export").contains(target) || (byId("export").open = false));
byId("help-button").addEventListener("click", () => byId("help").showModal());
byId("skip").addEventListener("click", () => byId("main").focus());
byId("close-side").addEventListener("click", closePanel);
