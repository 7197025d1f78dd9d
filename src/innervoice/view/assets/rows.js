// A row of the timeline as elements. A folded part has five: the fold, its line, the facts, the first line, the text.
import { drawBlocks } from "./blocks.js";
import { explained, factWords, make } from "./dom.js";

// The members of a row and of a fact are those of row_types.py.
/** @typedef {{label: string, why?: string, tone?: string, rest?: boolean}} Fact */
/** @typedef {{n: number, turn: number, kind: string, title: string, text: string, facts: Fact[], [name: string]: any}} Row */

const PICTURE = /^data:image\/(png|jpeg|gif|webp|avif);base64,/;

/** Whether a part is shown open unless a policy or a click says otherwise. @param {Row} row */
export function isShort(row) {
  return !row.is_aside && !row.cut && row.text.length <= 600 && row.text.split("\n").length <= 10;
}

/** Whether a row is a fold. @param {Row} row */
export function isFold(row) {
  return row.is_aside || !["turn", "text", "remark"].includes(row.kind);
}

/** The element of a row, filled. @param {Row} row */
export function drawRow(row) {
  const element = isFold(row) ? make("details", make("summary")) : make(row.kind === "turn" ? "header" : "div", { tabIndex: -1 });
  element.id = `n${row.n}`;
  fillRow(element, row);
  return element;
}

/** Draws a row again in its element; the element and its line stay, so that focus and fold stay. @param {any} element @param {Row} row */
export function fillRow(element, row) {
  element.className = `row ${row.kind}${row.is_aside ? " aside" : ""}${element.classList.contains("flip") ? " flip" : ""}`;
  if (isFold(row)) fillFold(element, row);
  else {
    const first = row.kind === "turn" ? [make("h2", row.title)] : textOf(row, true);
    element.replaceChildren(...first, ...footOf(row));
  }
  const urgent = row.notes.filter((note) => note.tone);
  if (urgent.length) element.append(explained("ul.notes", urgent));
  if (row.cut) element.append(make("button.load", `Load all ${row.cut.toLocaleString("en")} characters`));
  if (row.image) element.append(make("button.picture", "Show the image"));
}

function fillFold(element, row) {
  const line = element.firstElementChild;
  const first = plain(row.opening ?? row.first ?? "");
  line.replaceChildren(row.title, " ", make("span.facts", ...factWords(row.facts)), ...badgesOf(row));
  if (row.empty) line.append(" ", make("span.reason", row.empty.why));
  else if (first) line.append(" ", make("span.first", { dir: "auto" }, first));
  while (line.nextSibling) line.nextSibling.remove();
  element.append(...textOf(row, false));
  if (element.open) explain(element, row);
}

// The first words on one line have no room for marks of Markdown.
function plain(words) {
  return words.replaceAll("**", "").replaceAll("`", "").replace(/^#+ /, "");
}

function badgesOf(row) {
  const badges = row.seals.map((seal) => make(`span.badge.${seal.state}`, seal.label));
  if (row.empty) badges.push(make("span.badge.empty", `${row.kind === "turn" ? "no thought" : "empty"}: ${row.empty.word.replace("_", " ")}`));
  if (row.is_open) badges.push(make("span.badge.writing", "writing"));
  return badges.flatMap((badge) => [" ", badge]);
}

// The text as it was written, and, where that differs, as people read it; in a fold this is drawn when it is opened.
function textOf(row, isShown) {
  const text = make("div.text", { dir: "auto" }, row.text);
  return isShown && row.blocks ? [richOf(row), text] : [text];
}

function richOf(row) {
  return make("div.rich", ...drawBlocks(row.blocks));
}

// The line of facts of a row that is not a fold; with more to say, a separate fold.
function footOf(row) {
  const some = row.facts.filter((fact) => !fact.rest);
  const calm = row.notes.filter((note) => !note.tone).length;
  const shown = [...(some.length ? some : row.facts.slice(0, 1)), ...(calm ? [{ label: calm === 1 ? "1 note" : `${calm} notes` }] : [])];
  const words = [make("span.facts", ...factWords(shown)), ...badgesOf(row)];
  if (whysOf(row).length) return [make("details.foot", make("summary", ...words))];
  return shown.length || words.length > 1 ? [make("p.foot", ...words)] : [];
}

function whysOf(row) {
  const whys = row.seals.map((seal) => ({ label: seal.label, why: `${seal.why} ${seal.size}, ${seal.hash}` }));
  if (row.empty && row.kind === "turn") whys.push({ label: row.empty.word, why: row.empty.why });
  return [...whys, ...row.facts.filter((fact) => fact.why || fact.rest), ...row.notes.filter((note) => !note.tone)];
}

/** Fills a fold when it is opened: the text as people read it, and the sentences of facts and seals. @param {any} fold @param {Row} row */
export function explain(fold, row) {
  const text = fold.querySelector(":scope > .text");
  if (text && row.blocks && !fold.querySelector(":scope > .rich")) text.before(richOf(row));
  const whys = whysOf(row);
  if (whys.length && !fold.querySelector(":scope > .whys")) fold.append(explained("ul.whys", whys));
}

/** Shows the image of a row: data of five types, never a remote URL. @param {any} element @param {Row} row */
export function showImage(element, row) {
  if (PICTURE.test(row.image)) element.querySelector(".picture").replaceWith(make("img", { src: row.image, alt: row.title }));
}
