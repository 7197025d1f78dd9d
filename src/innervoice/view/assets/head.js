// The head above the timeline: title, sums, lanes, what the source cannot know, and where it could not be read.
import { byId, drawFacts, factWords, make } from "./dom.js";
import { linkTo } from "./place.js";

function drawLane(lane, id) {
  const label = make("a", { ...linkTo(lane.id), dir: "auto" }, lane.parent && !lane.helper ? "↳ " : "", lane.title || lane.id);
  if (lane.id === id) label.setAttribute("aria-current", "page");
  return make("li", label, make("span.small", lane.parent && !lane.helper ? " sub-agent " : " ", ...factWords(lane.facts)));
}

// What a client asked for itself is folded: a title, a summary.
function drawLanes({ lanes, id, lanes_total: total = 0 }) {
  const own = lanes.filter((lane) => !lane.helper);
  const helpers = lanes.filter((lane) => lane.helper);
  const items = own.map((lane) => drawLane(lane, id));
  if (total > lanes.length) items.push(make("li.small", `${total} conversations in all; the search finds the others`));
  const drawn = make("nav.lanes", { "aria-label": "Conversations of this source" });
  if (own.length > 1 || total > lanes.length) drawn.append(make("ul", ...items));
  else if (own.length && own[0].id !== id) drawn.append(make("ul", ...items));
  if (!helpers.length) return drawn;
  const words = helpers.length === 1 ? "1 request of the client for itself" : `${helpers.length} requests of the client for itself`;
  const open = helpers.some((lane) => lane.id === id);
  drawn.append(make("details.helpers", { open }, make("summary.small", words), make("ul", ...helpers.map((lane) => drawLane(lane, id)))));
  return drawn;
}

function drawSentences(kind, title, sentences) {
  if (!sentences.length) return null;
  return make(kind, make("summary", title), make("ul", ...sentences.map((sentence) => make("li", { dir: "auto" }, sentence))));
}

/** Draws the head of a conversation; folds of it that are open stay open. @param {any} head */
export function drawHead(head) {
  const title = head.title || head.source.title;
  const count = head.troubles.length;
  const open = [...byId("head").querySelectorAll("details[open]")].map((fold) => fold.className);
  const drawn = make(
    "div",
    make("p.path", head.source.kind, " ", make("bdi", head.source.path)),
    make("h1", { dir: "auto" }, title),
    drawFacts(head.facts),
    drawSentences("details.cannot", "What this source cannot know", head.cannot_know),
    drawSentences("details.troubles", count === 1 ? "1 place could not be read" : `${count} places could not be read`, head.troubles),
    head.lanes.length > 1 ? drawLanes(head) : null,
  );
  for (const fold of drawn.querySelectorAll("details")) fold.open = open.includes(fold.className);
  byId("head").replaceChildren(...drawn.children);
  document.title = `${title} – innervoice`;
}
