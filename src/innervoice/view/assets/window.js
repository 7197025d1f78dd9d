// Which rows are in the page: those around the reader. A long session has more than a browser can hold; empty space stands for the others, and they are fetched when it comes near.
import { ask, exported } from "./data.js";
import { byId } from "./dom.js";
import { noteRow, rowBefore, showWhere } from "./outline.js";
import { clearRows, dropRows, hasRow, putRow, reveal, settle } from "./timeline.js";

const FIRST = 60;
const CHUNK = 200;
const MOST = 1200;
const timeline = byId("timeline");
const sheet = new CSSStyleSheet();
document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
let conversation = "";
let total = 0;
// The rows from `from` up to `to` are drawn.
let from = 0;
let to = 0;
let above = 0;
let visits = 0;
let jumps = 0;
let isFilling = false;
let isDue = false;

/** The rows of a range, with the head of the conversation. @param {number} start @param {number} end @param {object} [how] */
async function fetchRows(start, end, how = {}) {
  if (exported) {
    const all = exported.conversations[conversation];
    return { ...all, rows: all.rows.slice(start, end) };
  }
  const piece = await ask(`c/${conversation}`, { ...(start && { from: start }), to: end, ...how });
  while (!piece.is_early && piece.next !== null && piece.next < end && piece.rows.length) {
    const more = await ask(`c/${conversation}`, { from: piece.next, to: end });
    if (!more.rows.length) break;
    piece.rows.push(...more.rows);
    piece.next = more.next;
  }
  return piece;
}

function spacers() {
  const height = to > from ? Math.max(20, timeline.offsetHeight / (to - from)) : 60;
  if (!from) above = 0;
  sheet.replaceSync(`#above { height: ${Math.round(above)}px } #below { height: ${Math.round((total - to) * height)}px }`);
}

function put(rows) {
  rows.forEach(putRow);
  settle();
  performance.mark("rows");
}

// The reader's place stays where it is on the screen, whatever is added or removed above it.
function keepPlace(act) {
  const anchor = [...timeline.children].find((child) => child.getBoundingClientRect().bottom > 60);
  const before = anchor?.getBoundingClientRect().top ?? 0;
  act();
  spacers();
  const moved = anchor?.isConnected ? anchor.getBoundingClientRect().top - before : 0;
  if (Math.abs(moved) > 1) scrollBy(0, moved);
}

async function fill(isDown) {
  const mine = visits;
  const [start, end] = isDown ? [to, Math.min(total, to + CHUNK)] : [Math.max(0, from - CHUNK), from];
  const { rows } = await fetchRows(start, end);
  if (mine !== visits || !rows.length) return;
  const tall = timeline.offsetHeight;
  keepPlace(() => {
    put(rows);
    if (isDown) to = start + rows.length;
    else {
      from = start;
      above = Math.max(0, above - (timeline.offsetHeight - tall));
    }
    trim(isDown);
  });
}

// Rows far from the reader leave the page.
function trim(isDown) {
  if (to - from <= MOST) return;
  const tall = timeline.offsetHeight;
  if (isDown) {
    const start = to - MOST;
    dropRows(from, start);
    from = start;
    above += tall - timeline.offsetHeight;
  } else {
    dropRows(from + MOST, to);
    to = from + MOST;
  }
}

/** Draws the rows around one, in place of those that are drawn. @param {number} n */
async function jump(n) {
  visits += 1;
  const mine = visits;
  const start = Math.max(0, Math.min(rowBefore(n), n - 20, total - CHUNK));
  jumps += 1;
  const { rows } = await fetchRows(start, start + CHUNK).finally(() => (jumps -= 1));
  if (mine !== visits) return false;
  const height = to > from ? timeline.offsetHeight / (to - from) : 60;
  clearRows();
  from = start;
  to = start + rows.length;
  above = start * height;
  put(rows);
  spacers();
  return true;
}

/** Goes to a row, wherever it is; returns whether it exists. @param {number} n @param {string} [words] */
export async function goTo(n, words = "") {
  if (n < 0 || n >= total) return false;
  if (!hasRow(n) && !(await jump(n))) return false;
  const found = await reveal(n, words);
  lookSoon();
  return found;
}

// What the reader sees decides what is fetched next.
async function look() {
  isDue = false;
  if (!conversation || isFilling || jumps) return;
  const { top, bottom } = timeline.getBoundingClientRect();
  const tall = innerHeight;
  showWhere();
  isFilling = true;
  try {
    if (from > 0 && top > tall) await land(Math.round(from * Math.max(0, 1 - (top - tall / 2) / above)));
    else if (to < total && bottom < 0) await land(Math.round(to + ((total - to) * (tall / 2 - bottom)) / byId("below").offsetHeight));
    else if (from > 0 && top > -1.5 * tall) await fill(false);
    else if (to < total && bottom < 2.5 * tall) await fill(true);
    else return;
  } catch (error) {
    byId("end").textContent = error.message;
    return;
  } finally {
    isFilling = false;
  }
  lookSoon();
}

// The scroll bar was dragged into the empty space.
async function land(n) {
  const row = Math.min(Math.max(0, n), total - 1);
  if (!(await jump(row))) return;
  const near = [row, row + 1, row - 1].map((number) => byId(`n${number}`));
  near.find((element) => element?.offsetParent)?.scrollIntoView({ block: "center" });
}

function lookSoon() {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(look);
}

/**
 * Opens a conversation at a row. `draw` gets the head; `known`, when all of it is read, the last event that the rows contain.
 * @param {string} id @param {{n: number, words: string}} wanted @param {(piece: any) => void} draw
 */
export async function openWindow(id, wanted, draw) {
  visits += 1;
  const mine = visits;
  conversation = id;
  total = from = to = above = 0;
  clearRows();
  const isEarly = wanted.n < FIRST && !exported;
  let piece = await fetchRows(0, FIRST, isEarly ? { early: 1 } : {});
  if (mine !== visits) return null;
  if (piece.is_early) {
    draw(piece);
    put(piece.rows);
    to = total = piece.rows.length;
    piece = await fetchRows(0, FIRST);
    if (mine !== visits) return null;
  }
  draw(piece);
  total = piece.total;
  to = Math.min(total, piece.rows.length);
  put(piece.rows);
  spacers();
  if (wanted.n >= 0) await goTo(wanted.n, wanted.words);
  look();
  return piece;
}

/** Adds a row that came while the page was open, if the reader is at the end; else only its place. @param {any} row */
export function addRow(row) {
  const isNext = row.n === to && to === total;
  total = Math.max(total, row.n + 1);
  noteRow(row);
  if (!isNext && !(row.n >= from && row.n < to)) return spacers();
  putRow(row);
  to = Math.max(to, row.n + 1);
  if (to - from > MOST + CHUNK) keepPlace(() => trim(true));
  return settle();
}

/** Whether rows are missing between the reader and the end. */
export function isAtEnd() {
  return to === total;
}

/** The number of rows. */
export function rowCount() {
  return total;
}

addEventListener("scroll", lookSoon, { passive: true });
addEventListener("resize", lookSoon);
