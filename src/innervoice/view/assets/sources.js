// The list of sources, grouped by project and day, with its search and filters; hidden when there is only one.
import { ask } from "./data.js";
import { byId, calmly, factWords, make, say } from "./dom.js";
import { linkTo, place } from "./place.js";

let next = 0;
let isMany = false;
let asked = 0;
let group = {};

function drawSource(source) {
  const words = [
    make("span.title", { dir: "auto" }, source.title || source.path),
    source.problem ? make("span.small.bad", source.is_deleted ? source.problem : `cannot be opened: ${source.problem}`) : null,
    make("span.small", source.kind ? make("span.kind", source.kind) : "", " ", source.time ? `${source.time} ` : "", ...factWords(source.facts)),
    source.path === source.title ? null : make("bdi.small.path", source.path),
  ];
  if (!source.first) return make(source.is_deleted ? "li.problem.deleted" : "li.problem", { "data-source": source.id }, ...words);
  return make("li", make("a", { ...linkTo(source.first), "data-source": source.id }, ...words));
}

// A project once, and a day once in it.
function drawGroups(sources) {
  return sources.flatMap((source) => {
    const heads = [];
    if (source.project !== group.project) heads.push(make("li.project", { dir: "auto" }, source.project || "other files"));
    if (source.day && (heads.length || source.day !== group.day)) heads.push(make("li.date", source.day));
    if (source.project !== undefined) group = { project: source.project, day: source.day };
    return [...heads, drawSource(source)];
  });
}

function filters() {
  const chosen = { model: byId("filter-model").value.trim(), cost: byId("filter-cost").value, lost: byId("filter-lost").checked ? "1" : "" };
  return Object.fromEntries(Object.entries(chosen).filter(([, value]) => value));
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
  const chosen = filters();
  asked += 1;
  const mine = asked;
  const list = await ask("sources", { q: query, from: more ? next : 0, ...chosen });
  const { unknown, pending = 0 } = list;
  if (mine !== asked) return undefined;
  const isNarrowed = query || Object.keys(chosen).length;
  if (!more) {
    group = {};
    byId("source-list").replaceChildren();
  }
  byId("source-list").append(...drawGroups(list.sources));
  if (isNarrowed && !list.total) byId("source-list").append(make("li.small", query ? "No source has these words." : "No source is like this."));
  const here = list.sources.find((source) => source.is_deleted && source.id === place.c.split(".")[0]);
  if (here) byId("end").textContent = "The file was deleted; this is what was read before.";
  next = list.next;
  isMany ||= list.total + unknown + pending > 1;
  byId("sources").hidden = byId("everywhere-label").hidden = !isMany;
  byId("more-sources").hidden = next === null;
  const words = [unknown && `${unknown} more of no known format.`, pending && `${pending} are not looked at yet.`];
  byId("unknown").textContent = words.filter(Boolean).join(" ");
  markSource(place.c.split(".")[0]);
  // Sums of files that were not read yet: the server goes on where it stopped.
  if (pending && Object.keys(chosen).length && !more) setTimeout(() => mine === asked && load(false), 300);
  const openable = list.sources.filter((source) => source.first);
  return openable.reduce((best, source) => ((source.at ?? 0) > (best.at ?? 0) ? source : best), openable[0]);
}

const load = (more) => loadSources(more).catch((error) => say(`The sources could not be listed: ${error.message}`));
byId("source-search").addEventListener("input", calmly(200, () => load(false)));
byId("more-sources").addEventListener("click", () => load(true));
byId("filters").addEventListener("input", calmly(300, () => load(false)));
