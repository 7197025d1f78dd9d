// The plan: what a request to a chosen model would do with each row, and how it differs from the last one.
import { ask } from "./data.js";
import { byId, drawFacts, explained, make } from "./dom.js";
import { notePlace, place } from "./place.js";
import { drawDiff, showPanel, shownPanel } from "./side.js";
import { markRows } from "./timeline.js";

let shown = "";

/** Suggests models. @param {string[]} targets */
export function suggestTargets(targets) {
  byId("targets").replaceChildren(...targets.map((value) => make("option", { value })));
}

function drawMark(mark) {
  const problems = mark.problems.length ? explained("ul", mark.problems) : null;
  return make(`div.mark.${mark.action}`, make("b", { title: mark.rule ? `Rule ${mark.rule}` : "" }, mark.label || mark.action), ` ${mark.why}`, problems);
}

// What goes unchanged needs no mark, unless it is a thought.
function marksOf(marks, row) {
  const own = marks[row.n];
  return own ? make("div.marks", ...own.map(drawMark)) : null;
}

/** Removes the marks. */
export function clearPlan() {
  shown = "";
  markRows();
  byId("plan-result").replaceChildren();
}

/** Loads the plan for a model and marks the rows; `again` if the conversation continued. @param {string} target @param {boolean} [again] */
export async function showPlan(target, again = false) {
  const wanted = `${place.c} ${target}`;
  if (document.activeElement !== byId("target")) byId("target").value = target;
  if (!target || !place.c) return clearPlan();
  if (wanted === shown && !again) return undefined;
  shown = wanted;
  const view = await ask(`plan/${place.c}`, { for: target }).catch((error) => ({ error: error.message }));
  if (wanted !== shown) return undefined;
  clearPlan();
  shown = view.error ? "" : wanted;
  if (view.error) byId("plan-result").append(make("p.bad", view.error));
  if (!view.summary?.length) return undefined;
  markRows((row) => marksOf(view.marks, row));
  const request = make("details.request", make("summary", "The next request, line by line"));
  // It may be long: it is drawn when somebody asks for it.
  request.addEventListener("toggle", () => request.childElementCount > 1 || request.append(make("p.small", view.compared), drawDiff(view.request, "The next request, line by line")));
  byId("plan-result").append(
    make("p.sentence", view.sentence),
    drawFacts(view.summary),
    make("p.small", "What would not go unchanged is marked at its place."),
    request,
  );
  return undefined;
}

byId("plan-form").addEventListener("submit", (event) => {
  event.preventDefault();
  notePlace({ for: byId("target").value.trim() });
  showPlan(place.for);
});
byId("target").addEventListener("change", () => byId("plan-form").requestSubmit());
byId("plan-button").addEventListener("click", () => {
  const isOpen = shownPanel() === "plan";
  showPanel(isOpen ? "" : "plan");
  if (isOpen) {
    notePlace({ for: "" });
    clearPlan();
  } else {
    byId("target").focus();
    byId("plan-form").requestSubmit();
  }
});
