// The outline beside the text: prompts with their sums, and a strip of all rows that is also a scroll bar. It knows what each row is, so that the next thought is found in rows that were not fetched.
import { ask, exported } from "./data.js";
import { byId, factWords, make } from "./dom.js";
import { linkTo } from "./place.js";

const strip = byId("strip");
const canvas = byId("strip-picture");
const KINDS = { thinking: "t", text: "x", call: "c", result: "r", remark: "e" };
const TONES = { U: "prompt", t: "thought", e: "error" };
let conversation = "";
let kinds = "";
let sizes = "";
let chapters = [];
let lines = [];
let view = [0, 0];
let isSummarized = false;
let travel = (n) => n;

function letterOf(row) {
  if (row.kind === "turn") return row.role === "user" && !row.is_nested ? "U" : "H";
  if (row.is_aside) return "A";
  if (row.kind === "result" && row.facts.some((fact) => fact.tone === "bad")) return "e";
  return KINDS[row.kind] ?? "m";
}

const digitOf = (row) => Math.min(35, Math.floor(1.6 * Math.log2(1 + (row.cut || row.text.length)))).toString(36);
const sizeOf = (digit) => 2 ** (parseInt(digit, 36) / 1.6) - 1;

// An exported file has all rows.
function outlineOf(rows) {
  const titleOf = (head) => rows.find((row) => row.turn === head.turn && row.kind === "text" && !row.is_aside)?.text.split("\n")[0].slice(0, 120);
  const heads = rows.filter((row) => letterOf(row) === "U" && titleOf(row));
  return { kinds: rows.map(letterOf).join(""), sizes: rows.map(digitOf).join(""), chapters: heads.map((head) => ({ n: head.n, title: titleOf(head), facts: [] })) };
}

/** Loads the outline of a conversation. @param {string} id @param {(n: number) => void} go */
export async function showOutline(id, go) {
  conversation = id;
  travel = go;
  const loaded = exported ? outlineOf(exported.conversations[id].rows) : await ask(`outline/${id}`);
  if (conversation !== id) return;
  ({ kinds, sizes, chapters } = loaded);
  byId("outline").hidden = kinds.length < 8;
  byId("chapters").replaceChildren(...chapters.map(drawChapter));
  isSummarized = false;
  showWhere();
}

/** Forgets the outline, because another conversation is opened. */
export function clearOutline() {
  conversation = kinds = sizes = "";
  chapters = [];
  byId("outline").hidden = true;
}

function weightOf(start, end) {
  let sum = 0;
  for (let i = start; i < end; i += 1) sum += sizeOf(sizes[i] ?? "0");
  return sum;
}

function drawChapter(chapter, i) {
  const end = chapters[i + 1]?.n ?? kinds.length;
  const share = weightOf(chapter.n, end) / Math.max(1, weightOf(0, kinds.length));
  const link = make("a", { ...linkTo(conversation, chapter.n), dir: "auto", title: chapter.title }, make("span.title", chapter.title));
  return make("li", link, make("span.small", ...factWords(chapter.facts)), make("meter", { max: 1, value: Math.max(0.01, share), "aria-hidden": "true" }));
}

/** Notes a row that was added. @param {any} row */
export function noteRow(row) {
  if (row.n > kinds.length) return;
  kinds = kinds.slice(0, row.n) + letterOf(row) + kinds.slice(row.n + 1);
  sizes = sizes.slice(0, row.n) + digitOf(row) + sizes.slice(row.n + 1);
  isSummarized = false;
}

/** The head of the turn that a row belongs to, as far as it is known. @param {number} n */
export function rowBefore(n) {
  let row = Math.min(n, kinds.length - 1);
  while (row > 0 && kinds[row] !== "U" && kinds[row] !== "H") row -= 1;
  return Math.max(0, row < n - 100 ? n - 20 : row);
}

/** The next row of some kinds, or the one before; -1 if there is none. @param {string} letters @param {number} n @param {number} step */
export function nextOf(letters, n, step) {
  for (let row = n + step; row >= 0 && row < kinds.length; row += step) if (letters.includes(kinds[row])) return row;
  return -1;
}

// Each line of the strip stands for some rows: its length for the largest, its colour for the most important.
function summarize() {
  const count = Math.min(kinds.length, Math.floor(strip.clientHeight / 2));
  lines = Array.from({ length: count }, (_, i) => {
    const start = Math.floor((i * kinds.length) / count);
    const end = Math.max(start + 1, Math.floor(((i + 1) * kinds.length) / count));
    const letters = kinds.slice(start, end);
    const tone = TONES[["e", "U", "t"].find((letter) => letters.includes(letter)) ?? ""] ?? "other";
    return { tone, digit: Math.max(...[...sizes.slice(start, end)].map((one) => parseInt(one, 36))) };
  });
}

function drawStrip() {
  const scale = globalThis.devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = strip;
  if (!width || !height || !kinds.length) return;
  canvas.width = width * scale;
  canvas.height = height * scale;
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  const colors = Object.fromEntries(["prompt", "thought", "error", "other", "view"].map((tone) => [tone, getComputedStyle(byId(`legend-${tone}`)).color]));
  const [first, last] = view;
  const top = (first / kinds.length) * height;
  pen.fillStyle = colors.view;
  pen.fillRect(0, top, width, Math.max(6, ((last + 1) / kinds.length) * height - top));
  const step = height / lines.length;
  for (const [i, { tone, digit }] of lines.entries()) {
    pen.fillStyle = colors[tone];
    pen.fillRect(0, i * step, tone === "prompt" || tone === "error" ? width : Math.max(2, (width * digit) / 26), Math.max(1, Math.min(step * 0.7, 5)));
  }
}

/** The first and the last row on the screen. */
export function rowsInView() {
  const tall = innerHeight;
  const seen = [];
  for (const section of byId("timeline").children) {
    const { top, bottom } = section.getBoundingClientRect();
    if (bottom < 60) continue;
    if (top > tall) break;
    for (const row of section.querySelectorAll(".row:not([hidden])")) {
      const box = row.getBoundingClientRect();
      if (box.height && box.bottom > 60 && box.top < tall) seen.push(Number(row.id.slice(1)));
    }
  }
  return seen.length ? [Math.min(...seen), Math.max(...seen)] : [0, 0];
}

/** Shows where the reader is. */
export function showWhere() {
  if (!kinds.length || byId("outline").hidden) return;
  if (!isSummarized) summarize();
  isSummarized = true;
  view = rowsInView();
  const [first, last] = view;
  drawStrip();
  strip.setAttribute("aria-valuenow", String(first));
  strip.setAttribute("aria-valuemax", String(Math.max(0, kinds.length - 1)));
  strip.setAttribute("aria-valuetext", `row ${first + 1} of ${kinds.length.toLocaleString("en")}`);
  const current = chapters.findLastIndex((chapter) => chapter.n <= last);
  for (const [i, item] of [...byId("chapters").children].entries()) {
    if (i === current) item.firstElementChild.setAttribute("aria-current", "location");
    else item.firstElementChild.removeAttribute("aria-current");
  }
}

function travelTo(event) {
  const { top, height } = strip.getBoundingClientRect();
  travel(Math.max(0, Math.min(kinds.length - 1, Math.floor(((event.clientY - top) / height) * kinds.length))));
}

strip.addEventListener("pointerdown", (event) => {
  strip.setPointerCapture(event.pointerId);
  travelTo(event);
});
strip.addEventListener("pointermove", (event) => strip.hasPointerCapture(event.pointerId) && travelTo(event));
strip.addEventListener("keydown", (event) => {
  const page = Math.max(10, Math.round(kinds.length / 40));
  const now = Number(strip.getAttribute("aria-valuenow"));
  const next = { ArrowDown: now + 1, ArrowUp: now - 1, PageDown: now + page, PageUp: now - page, Home: 0, End: kinds.length - 1 }[event.key];
  if (next === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  travel(Math.max(0, Math.min(kinds.length - 1, next)));
});
addEventListener("resize", () => {
  isSummarized = false;
  showWhere();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawStrip);
