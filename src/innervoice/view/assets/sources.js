// The list of sources, with its search; hidden when there is only one.
import { ask } from "./data.js";
import { byId, calmly, factWords, make, say } from "./dom.js";
import { linkTo, place } from "./place.js";

let next = 0;
let isMany = false;

function drawSource(source) {
  const words = [
    make("span.title", { dir: "auto" }, source.title || source.path),
    source.problem ? make("span.small.bad", `cannot be opened: ${source.problem}`) : null,
    make("span.small", source.kind, " · ", ...factWords(source.facts)),
    source.path === source.title ? null : make("bdi.small.path", source.path),
  ];
  if (!source.first) return make("li.problem", ...words);
  return make("li", make("a", { ...linkTo(source.first), "data-source": source.id }, ...words));
}

/** Marks the source that is shown. @param {string} id */
export function markSource(id) {
  for (const link of byId("source-list").querySelectorAll("a")) {
    if (link.dataset.source === id) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

/** Loads the list from its beginning, or the next part of it; returns the first source that can be opened. @param {boolean} [more] */
export async function loadSources(more = false) {
  const query = byId("source-search").value.trim();
  const list = await ask("sources", { q: query, from: more ? next : 0 });
  const { unknown, pending = 0 } = list;
  if (query !== byId("source-search").value.trim()) return undefined;
  if (!more) byId("source-list").replaceChildren();
  byId("source-list").append(...list.sources.map(drawSource));
  if (query && !list.total) byId("source-list").append(make("li.small", "No source has these words."));
  next = list.next;
  isMany ||= list.total + unknown + pending > 1;
  byId("sources").hidden = byId("everywhere-label").hidden = !isMany;
  byId("more-sources").hidden = next === null;
  const words = [unknown && `${unknown} more of no known format.`, pending && `${pending} are not looked at yet.`];
  byId("unknown").textContent = words.filter(Boolean).join(" ");
  markSource(place.c.split(".")[0]);
  return list.sources.find((source) => source.first);
}

const load = (more) => loadSources(more).catch((error) => say(`The sources could not be listed: ${error.message}`));
byId("source-search").addEventListener("input", calmly(200, () => load(false)));
byId("more-sources").addEventListener("click", () => load(true));
