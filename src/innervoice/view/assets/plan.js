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
  return make(`div.mark.${mark.action}`, make("b", mark.label || mark.action), make("span.rule", ` ${mark.rule}`), ` ${mark.why}`, problems);
}

function marksOf(marks, row) {
  const own = marks[row.n];
  if (own) return make("div.marks", ...own.map(drawMark));
  return row.part === null ? null : make("div.marks", make("div.mark.goes", make("b", "goes")));
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
  byId("plan-result").append(
    drawFacts(view.summary),
    make("p.small", "The mark under each row says what would happen to it."),
    make("h3", "The next request"),
    make("p.small", view.compared),
    drawDiff(view.request, "The next request, line by line"),
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
