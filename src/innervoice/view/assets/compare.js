// The comparison of two turns, or of the requests before them; of one conversation or of two.
import { ask } from "./data.js";
import { byId, drawFacts, make } from "./dom.js";
import { notePlace, place } from "./place.js";
import { drawDiff, showPanel, shownPanel } from "./side.js";
import { drawnRows } from "./timeline.js";

let shown = "";
const form = byId("compare-form");

// A choice of another conversation stays in the lists.
function listTurns() {
  const turns = drawnRows().filter((row) => row.kind === "turn" && !row.is_nested);
  for (const [id, chosen] of [["left", place.a], ["right", place.b]]) {
    const options = turns.map((row) => make("option", { value: `${place.c}:${row.turn}` }, `turn ${row.turn + 1}, ${row.title}`));
    if (chosen && !chosen.startsWith(`${place.c}:`)) options.unshift(make("option", { value: chosen }, `turn ${Number(chosen.split(":").pop()) + 1} of another conversation`));
    byId(id).replaceChildren(make("option", { value: "" }, "choose a turn"), ...options);
    byId(id).value = chosen;
  }
}

/** Shows the comparison that the URL names. */
export async function showComparison() {
  listTurns();
  const { a, b, what } = place;
  form.elements.what.value = what || "turn";
  const other = [a, b].map((turn) => turn.split(":")[0]).find((id) => id && id !== place.c) ?? "";
  byId("runs-link").href = `runs#${new URLSearchParams({ a: place.c, b: other })}`;
  const result = byId("compare-result");
  const wanted = `${a} ${b} ${what}`;
  if (wanted === shown) return;
  shown = wanted;
  if (!a || !b) return result.replaceChildren(make("p", "Choose two turns, here or with the buttons of a turn's head."));
  try {
    const view = await ask("diff", { a, b, what: what || "turn" });
    if (wanted !== shown) return;
    result.replaceChildren(
      make("p", make("del.side", `− ${view.left}`), make("br"), make("ins.side", `+ ${view.right}`)),
      drawFacts(view.facts),
      drawDiff(view.lines, "The comparison, line by line"),
    );
  } catch (error) {
    shown = "";
    result.replaceChildren(make("p.bad", error.message));
  }
}

form.addEventListener("change", () => {
  notePlace({ a: byId("left").value, b: byId("right").value, what: form.elements.what.value });
  showComparison();
});
byId("compare-button").addEventListener("click", () => {
  const isOpen = shownPanel() === "compare";
  showPanel(isOpen ? "" : "compare");
  if (isOpen) notePlace({ a: "", b: "", what: "" });
  else {
    showComparison();
    byId("left").focus();
  }
});
