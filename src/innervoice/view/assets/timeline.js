// The timeline: rows in order, a section for each turn. A fold that was clicked stays as it was left, whatever the policy says.
import { ask } from "./data.js";
import { byId, factWords, make, say } from "./dom.js";
import { address, notePlace, place, visit } from "./place.js";
import { drawRow, explain, fillRow, isFold, isShort, showImage } from "./rows.js";

/** @typedef {import("./rows.js").Row} Row */

const timeline = byId("timeline");
/** @type {Map<number, {row: Row, element: any, was?: string}>} */
const entries = new Map();
const sections = new Map();
// By conversation and row: whether a fold that was clicked is open, and thoughts that were requested although the policy is `none`.
const clicked = new Map();
const asked = new Set();
const unsettled = new Set();
const marks = globalThis.CSS?.highlights;
const tools = make("div.tools");
let conversation = "";
let policy = "";
/** @type {((row: Row) => any) | undefined} */
let markOf;

/** Begins the timeline of a conversation. @param {string} id */
export function clearTimeline(id) {
  conversation = id;
  markOf = undefined;
  clearRows();
}

/** Removes all rows. */
export function clearRows() {
  entries.clear();
  sections.clear();
  unsettled.clear();
  marks?.delete("hit");
  timeline.replaceChildren();
}

/** Removes the rows of a range. @param {number} from @param {number} to */
export function dropRows(from, to) {
  for (let n = from; n < to; n += 1) {
    const entry = entries.get(n);
    if (!entry) continue;
    entries.delete(n);
    if (entry.element.nextElementSibling?.matches(".marks")) entry.element.nextElementSibling.remove();
    entry.element.remove();
  }
  for (const [turn, section] of sections) {
    if (section.querySelector(".row")) continue;
    sections.delete(turn);
    unsettled.delete(section);
    if (section.previousElementSibling?.matches(".day")) section.previousElementSibling.remove();
    section.remove();
  }
}

/** Whether a row is in the page. @param {number} n */
export function hasRow(n) {
  return entries.has(n);
}

/** The rows in the page, in order. @returns {Row[]} */
export function drawnRows() {
  return [...entries.values()].map((entry) => entry.row).sort((a, b) => a.n - b.n);
}

function keyOf(n) {
  return `${conversation} ${n}`;
}

function orderOf(element) {
  return Number(element.dataset.order ?? element.id.slice(1));
}

function insertInOrder(parent, element, order) {
  let before = parent.lastElementChild;
  while (before && orderOf(before) > order) before = before.previousElementSibling;
  if (before) before.after(element);
  else parent.prepend(element);
}

function sectionOf(turn) {
  if (!sections.has(turn)) {
    const section = make("section.turn", { "data-order": turn }, make("div.parts"));
    sections.set(turn, section);
    insertInOrder(timeline, section, turn);
  }
  return sections.get(turn);
}

/** Inserts a row at its place, or redraws it there. @param {Row} row */
export function putRow(row) {
  const known = entries.get(row.n);
  if (known?.was) row.facts.unshift({ label: "read again", tone: "warn", why: `At first this was: ${known.was}` });
  if (known?.row.turn === row.turn && isFold(known.row) === isFold(row) && (known.row.kind === "turn") === (row.kind === "turn")) {
    entries.set(row.n, { row, element: known.element });
    fillRow(known.element, row);
  } else {
    known?.element.remove();
    const element = drawRow(row);
    const section = sectionOf(row.turn);
    if (row.kind === "turn") beginTurn(section, element, row);
    else insertPart(section, element, row);
    entries.set(row.n, { row, element });
  }
  fold(row.n);
  if (markOf) mark(entries.get(row.n));
}

function beginTurn(section, element, row) {
  section.className = `turn ${row.role}`;
  section.prepend(element);
  section.hidden = Boolean(row.is_nested) && !section.lastElementChild.childElementCount;
  if (row.day && !section.previousElementSibling?.matches(".day")) section.before(make("p.day", { "data-order": row.turn - 0.5 }, row.day));
}

// A result stands under its call, if that is in the page.
function insertPart(section, element, row) {
  const call = row.kind === "result" && entries.get(row.call)?.element;
  if (call) {
    element.dataset.order = orderOf(call) + 0.8 + row.n * 1e-8;
    insertInOrder(call.parentElement, element, orderOf(element));
  } else {
    insertInOrder(section.lastElementChild, element, row.n);
    section.hidden = false;
  }
}

/** Appends to a row that grows, even while it is folded; repeating it does no harm. @param {any} growth */
export function growRow(growth) {
  const entry = entries.get(growth.n);
  if (!entry) return;
  const { row, element } = entry;
  const node = element.querySelector(":scope > .text").lastChild;
  const isSame = ["first", "opening", "cut", "blocks"].every((name) => !(name in growth) || growth[name] === row[name]);
  entry.row = { ...row, ...growth, text: row.text.slice(0, growth.at) + growth.text };
  delete entry.row.empty;
  if (isSame && !row.empty && growth.at === row.text.length && node.data === row.text) {
    node.appendData(growth.text);
    element.querySelector(":scope > summary > .facts, .foot .facts")?.replaceChildren(...factWords(growth.facts));
  } else fillRow(element, entry.row);
}

/** Marks a row as withdrawn; its content stays readable. @param {number} n */
export function dropRow(n) {
  const entry = entries.get(n);
  if (!entry) return;
  const { row, element } = entry;
  const why = "The source was read again, and this is no longer a part of it.";
  entry.was = `${row.title}. ${row.text.slice(0, 300)}`;
  entry.row = { ...row, is_open: false, facts: [{ label: "taken back", tone: "warn", why }, ...row.facts] };
  fillRow(element, entry.row);
  element.classList.add("gone");
}

// Opens, closes or hides a row: a click wins over the policy.
function fold(n) {
  const { row, element } = entries.get(n);
  if (!isFold(row)) return;
  const isThought = row.kind === "thinking";
  if (isThought && (policy === "none" || element.hidden)) unsettled.add(sections.get(row.turn));
  element.hidden = isThought && policy === "none" && !asked.has(keyOf(n)) && !clicked.has(keyOf(n));
  const open = clicked.get(keyOf(n)) ?? (isThought ? policy === "full" && !row.empty : isShort(row));
  if (element.open !== open) element.open = open;
}

/** Counts the thoughts that are not shown, in a line where the first one would be. */
export function settle() {
  for (const section of unsettled) {
    section.querySelector(".absent")?.remove();
    const absent = section.querySelectorAll(".thinking[hidden]");
    if (!absent.length) continue;
    const words = absent.length === 1 ? "1 thought is not shown" : `${absent.length} thoughts are not shown`;
    absent[0].before(make("button.absent", { "data-order": orderOf(absent[0]) }, words));
  }
  unsettled.clear();
}

/** Applies a policy to every fold that nobody has clicked. @param {string} chosen */
export function setPolicy(chosen) {
  policy = chosen;
  document.documentElement.dataset.policy = chosen;
  for (const n of entries.keys()) fold(n);
  settle();
}

function entryOf(element) {
  return entries.get(Number(element.closest(".row")?.id.slice(1) ?? -1));
}

function focusRow(element) {
  (element.tagName === "DETAILS" ? element.firstElementChild : element).focus({ preventScroll: true });
  element.scrollIntoView({ block: "nearest" });
}

/** Goes to the next row or the one before. @param {number} step */
export function stepRow(step) {
  const rows = [...timeline.querySelectorAll("section:not([hidden]) .row:not([hidden])")];
  const i = rows.indexOf(document.activeElement.closest(".row") ?? byId(`n${place.n}`));
  const next = rows[i < 0 && step < 0 ? rows.length - 1 : i + step];
  if (next) focusRow(next);
}

/** The row with the focus, or the last that was visited; -1 if there is none. */
export function currentRow() {
  return Number((document.activeElement.closest(".row") ?? byId(`n${place.n}`))?.id.slice(1) ?? -1);
}

/** Goes to a row, and opens its fold if words are to be marked there. Returns whether it exists. @param {number} n @param {string} words */
export async function reveal(n, words = "") {
  const entry = entries.get(n);
  if (!entry) return false;
  // The head of results that stand under their calls is not shown; the first of them is.
  if (entry.element.parentElement.hidden && entries.has(n + 1)) return reveal(n + 1, words);
  asked.add(keyOf(n));
  if (words) clicked.set(keyOf(n), true);
  fold(n);
  settle();
  if (words && entry.row.cut && !entry.row.text.includes(words)) await loadWhole(entry);
  const place_of_words = highlight(entry.element, words.toLowerCase());
  await showAt(entry.element);
  focusRow(entry.element);
  place_of_words?.startContainer.parentElement.scrollIntoView({ block: "nearest" });
  return true;
}

// The browser estimates the height of what it has not shown yet, and corrects it when it comes into view: the row may move away.
async function showAt(element) {
  for (let i = 0; i < 6; i += 1) {
    element.scrollIntoView();
    await new Promise((go) => setTimeout(go, 16));
    const { top } = element.getBoundingClientRect();
    if (top >= 0 && top < innerHeight - 40) return;
  }
}

// Marks words in a row without changing it.
function highlight(element, words) {
  marks?.delete("hit");
  if (!words || !marks) return undefined;
  const ranges = [];
  const walk = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode;
    const text = node.data.toLowerCase();
    for (let at = text.indexOf(words); at >= 0 && at + words.length <= node.length && ranges.length < 1000; at = text.indexOf(words, at + 1)) {
      const range = new Range();
      range.setStart(node, at);
      range.setEnd(node, at + words.length);
      ranges.push(range);
    }
  }
  marks.set("hit", new Highlight(...ranges));
  return ranges.find((range) => range.startContainer.parentElement.closest(".text")) ?? ranges[0];
}

async function loadWhole(entry) {
  try {
    const { text } = await ask(`part/${conversation}/${entry.row.n}`);
    entry.row = { ...entry.row, text, cut: 0 };
    fillRow(entry.element, entry.row);
  } catch (error) {
    say(`The rest could not be loaded: ${error.message}`);
  }
}

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    say(`${what} copied.`);
  } catch {
    say("The browser does not allow copying.");
  }
}

// One set of buttons, which moves to the row under the pointer or with the focus.
function showTools({ row, element }) {
  if (tools.dataset.row === String(row.n) && tools.isConnected) return;
  const here = { c: conversation, n: row.n };
  const button = (words, onclick) => make("button", { onclick }, words);
  const buttons = [button("Copy link", () => copy(location.href.split("#")[0] + address(here), "Link"))];
  if (row.kind !== "turn") buttons.unshift(button("Copy text", () => copy(entries.get(row.n).row.text, "Text")));
  else for (const [side, words] of Object.entries({ a: "Compare from here", b: "to here" })) buttons.push(button(words, () => visit({ ...here, [side]: `${conversation}:${row.turn}` })));
  if (row.call !== undefined && !entries.has(row.call)) buttons.push(button("Go to the call", () => visit({ ...here, n: String(row.call) })));
  if (row.blocks) buttons.push(button("Source", () => element.classList.toggle("flip")));
  tools.replaceChildren(make("div", ...buttons));
  tools.dataset.row = row.n;
  tools.dataset.order = orderOf(element) + 2e-9;
  if (row.kind === "turn") element.append(tools);
  else (element.nextElementSibling?.matches(".marks") ? element.nextElementSibling : element).after(tools);
}

// The mark of a row follows it.
function mark({ row, element }) {
  if (element.nextElementSibling?.matches(".marks")) element.nextElementSibling.remove();
  const drawn = markOf?.(row);
  if (!drawn) return;
  drawn.dataset.order = orderOf(element) + 1e-9;
  element.after(drawn);
}

/** Adds an element after each row, such as the marks of a plan, also after those that come later; without a function, removes them. @param {(row: Row) => any} [draw] */
export function markRows(draw) {
  markOf = draw;
  for (const old of timeline.querySelectorAll(".marks")) old.remove();
  for (const entry of draw ? entries.values() : []) mark(entry);
}

timeline.addEventListener("click", ({ target }) => {
  const entry = entryOf(target);
  if (target.className === "absent") {
    const absent = target.parentElement.querySelectorAll(".thinking[hidden]");
    for (const row of absent) {
      asked.add(keyOf(orderOf(row)));
      fold(orderOf(row));
    }
    settle();
    focusRow(absent[0]);
  } else if (target.className === "load") loadWhole(entry);
  else if (target.className === "picture") showImage(entry.element, entry.row);
  else if (entry && target.closest("summary")?.parentElement === entry.element) clicked.set(keyOf(entry.row.n), !entry.element.open);
});

// `toggle` does not bubble.
timeline.addEventListener("toggle", ({ target }) => target.open && explain(target, entryOf(target).row), true);

timeline.addEventListener("focusin", ({ target }) => {
  const entry = entryOf(target);
  if (!entry) return;
  notePlace({ n: String(entry.row.n) });
  showTools(entry);
});

timeline.addEventListener("pointerover", ({ target }) => {
  const entry = entryOf(target);
  if (entry && !tools.contains(document.activeElement)) showTools(entry);
});
