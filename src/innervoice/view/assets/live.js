// What happens while the page is open: rows that come, grow or are taken back. A lost connection goes on where it was.
import { route } from "./data.js";
import { byId, say } from "./dom.js";
import { drawHead } from "./head.js";
import { dropRow, growRow, putRow, settle } from "./timeline.js";

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

// Goes to the end, once for all that came before the next picture.
function follow() {
  if (!byId("follow").checked || isFollowing) return;
  isFollowing = true;
  requestAnimationFrame(() => {
    isFollowing = false;
    scrollTo(0, document.documentElement.scrollHeight);
  });
}

/**
 * Listens to a conversation behind an event that its rows contain already.
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
    if (!byId(`n${row.n}`)) news += 1;
    putRow(row);
    settle();
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
    // The browser goes on by itself, unless the server refused.
    if (source.readyState === EventSource.CLOSED && stream === source) retry = setTimeout(startLive, 3000, id, last, tasks);
  };
  stream = source;
  byId("follow-label").hidden = false;
}

// Who scrolls back wants to stay there.
addEventListener("wheel", ({ deltaY }) => deltaY < 0 && (byId("follow").checked = false), { passive: true });
byId("follow").addEventListener("change", follow);
