// Where the reader is (conversation, row, query, target, comparison): after the # of the URL, which is never sent anywhere.
import { calmly } from "./dom.js";

export const place = { c: "", n: "", q: "", for: "", a: "", b: "", what: "" };

/** The URL of the place with changes. @param {object} changes */
export function address(changes = {}) {
  const members = Object.entries({ ...place, ...changes });
  return `#${new URLSearchParams(members.filter(([, value]) => value))}`;
}

/** Reads the place from the URL. */
export function readPlace() {
  const members = new URLSearchParams(location.hash.slice(1));
  for (const name of Object.keys(place)) place[name] = members.get(name) ?? "";
}

// Browsers refuse too many changes at once.
const write = calmly(150, () => history.replaceState(null, "", location.pathname + address()));

/** Changes the URL without a step in the browser's history. @param {object} changes */
export function notePlace(changes) {
  Object.assign(place, changes);
  write();
}

/** The properties of a link to a conversation, or to a row of it; a plan and a comparison go along. @param {string} id @param {number} [n] */
export function linkTo(id, n) {
  const to = n === undefined ? { c: id, n: "", q: "" } : { c: id, n: String(n) };
  const onclick = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    visit(to);
  };
  return { href: n === undefined ? `#c=${id}` : `#c=${id}&n=${n}`, onclick };
}

/** Goes to another place; `hashchange` tells the page. @param {object} changes */
export function visit(changes) {
  const next = address(changes);
  Object.assign(place, changes);
  if (next === location.hash) dispatchEvent(new Event("hashchange"));
  else location.hash = next;
}
