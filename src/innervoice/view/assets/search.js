// Search: a list of hits, each of which opens its fold.
import { ask, exported } from "./data.js";
import { byId, calmly, make } from "./dom.js";
import { notePlace, place, visit } from "./place.js";
import { showPanel, shownPanel } from "./side.js";

let shown = "";
let words_of_hit = "";

/** The words of the hit that was chosen last, to mark them in its row. */
export function takeHitWords() {
  const words = words_of_hit;
  words_of_hit = "";
  return words;
}

// An exported file has no server to search in it.
function searchFile(query) {
  const hits = exported.conversations[place.c].rows.flatMap((row) => {
    const facts = [...row.facts, ...row.notes].map((fact) => `${fact.label} ${fact.why ?? ""}`);
    const text = [row.title, row.text, ...facts].join("\n");
    const at = text.toLowerCase().indexOf(query.toLowerCase());
    const end = at + query.length;
    const around = { before: text.slice(Math.max(0, at - 40), at), hit: text.slice(at, end), after: text.slice(end, end + 60) };
    return at < 0 ? [] : [{ id: place.c, n: row.n, title: row.title, where: row.kind, ...around }];
  });
  return { hits, words: hits.length === 1 ? "1 row" : `${hits.length} rows` };
}

function drawHit(hit) {
  const onclick = () => {
    words_of_hit = hit.hit;
    visit({ c: hit.id, n: String(hit.n) });
  };
  const source = document.querySelector(`[data-source="${CSS.escape(hit.id.split(".")[0])}"] .title`);
  const where = hit.id === place.c ? hit.where : `${hit.where}, in ${source?.textContent ?? "another conversation"}`;
  const excerpt = make("span.excerpt", { dir: "auto" }, hit.before, make("mark", hit.hit), hit.after);
  return make("li", make("button.hit", { onclick }, make("b", { dir: "auto" }, hit.title), make("span.small", ` ${where}`), excerpt));
}

/** Searches, or closes the search if there is nothing to search for. @param {string} query */
export async function showSearch(query) {
  const isEverywhere = byId("everywhere").checked;
  const wanted = `${query} ${isEverywhere || place.c}`;
  // A user who is typing is not interrupted.
  if (document.activeElement !== byId("search")) byId("search").value = query;
  if (query && wanted === shown) return;
  shown = wanted;
  if (!query) {
    if (shownPanel() === "found") showPanel("");
    return;
  }
  const asking = exported ? searchFile(query) : ask("search", isEverywhere ? { q: query } : { q: query, in: place.c });
  const result = await Promise.resolve(asking).catch((error) => ({ hits: [], words: error.message }));
  if (wanted !== shown) return;
  byId("found-words").textContent = result.words;
  byId("hits").replaceChildren(...result.hits.map(drawHit));
  showPanel("found");
}

function search() {
  notePlace({ q: byId("search").value.trim() });
  showSearch(place.q);
}

byId("search").addEventListener("input", calmly(300, search));
byId("search-form").addEventListener("submit", (event) => {
  event.preventDefault();
  search();
});
byId("everywhere").addEventListener("change", search);
