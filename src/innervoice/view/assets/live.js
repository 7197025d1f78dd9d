// Changes while the page is open: rows that are added, grow or are withdrawn. A lost connection resumes where it was.
import { route } from "./data.js";
import { byId, say } from "./dom.js";
import { drawHead } from "./head.js";
import { dropRow, growRow } from "./timeline.js";
import { addRow, goTo, isAtEnd, rowCount } from "./window.js";

/** @type {EventSource | undefined} */
let stream;
let retry = 0;
let news = 0;
let said = 0;
let isFollowing = false;

/** Ends the stream of events. */
export function stopLive() {
  stream?.close();
  stream = undefined;
  clearTimeout(retry);
}

// Now and then, never word by word.
function tell() {
  if (!news || Date.now() - said < 4000) return;
  say(news === 1 ? "1 new row." : `${news} new rows.`);
  said = Date.now();
  news = 0;
}

// Scrolls to the end, once for all changes before the next frame.
function follow() {
  if (!byId("follow").checked || isFollowing) return;
  isFollowing = true;
  requestAnimationFrame(() => {
    isFollowing = false;
    if (isAtEnd()) scrollTo(0, document.documentElement.scrollHeight);
    else goTo(rowCount() - 1);
  });
}

/**
 * Listens to a conversation, after an event that its rows already contain.
 * @param {string} id
 * @param {string} after
 * @param {{reset: () => void, sources: () => void, changed: () => void}} tasks
 */
export function startLive(id, after, tasks) {
  stopLive();
  const source = new EventSource(route("live", after ? { c: id, after } : { c: id }));
  let last = after;
  const on = (name, act) =>
    source.addEventListener(name, (message) => {
      last = message.lastEventId || last;
      act(JSON.parse(message.data));
      follow();
      tell();
    });
  on("row", (row) => {
    if (row.n >= rowCount()) news += 1;
    addRow(row);
    tasks.changed();
  });
  on("grow", growRow);
  on("gone", (gone) => dropRow(gone.n));
  on("head", drawHead);
  on("sources", tasks.sources);
  on("reset", tasks.reset);
  source.onopen = () => say("Live.");
  source.onerror = () => {
    say("The connection is lost; trying again.");
    // The browser reconnects by itself, unless the server refused.
    if (source.readyState === EventSource.CLOSED && stream === source) retry = setTimeout(startLive, 3000, id, last, tasks);
  };
  stream = source;
  byId("follow-label").hidden = false;
}

// A reader who scrolls back wants to stay there.
addEventListener("wheel", ({ deltaY }) => deltaY < 0 && (byId("follow").checked = false), { passive: true });
byId("follow").addEventListener("change", follow);
