// The panel next to the timeline: one of plan, comparison and search at a time; and the lines of a diff, which two of them show.
import { byId, make } from "./dom.js";

const PANELS = ["plan", "compare", "found"];
const LINES = { same: ["span", "  "], removed: ["del", "− "], added: ["ins", "+ "] };

/** Shows a panel, or none. @param {string} name */
export function showPanel(name) {
  for (const panel of PANELS) byId(panel).hidden = panel !== name;
  byId("side").hidden = !name;
  for (const panel of ["plan", "compare"]) byId(`${panel}-button`).setAttribute("aria-expanded", panel === name);
}

/** The panel that is shown. */
export function shownPanel() {
  return PANELS.find((panel) => !byId(panel).hidden) ?? "";
}

/** Lines of a comparison: signs show what differs, not colours alone. @param {any[]} lines @param {string} label */
export function drawDiff(lines, label) {
  const count = lines.filter((line) => line.op !== "same").length;
  const drawn = lines.map(({ op, text }) => make(`${LINES[op][0]}.line`, `${LINES[op][1]}${text}\n`));
  return make(
    "div",
    make("p.small", count === 0 ? "Nothing differs." : count === 1 ? "1 line differs." : `${count} lines differ.`),
    make("pre.diff", { tabIndex: 0, role: "group", "aria-label": label }, ...drawn),
  );
}
