// The text of a row as people read it: blocks of Markdown, and the arguments of calls. The server has read them; here they become elements, text by text.
import { make } from "./dom.js";

const PIECES = { b: "strong", i: "em", s: "s" };
const SIGNS = { "+": ["ins", "+ "], "-": ["del", "− "], "@": ["span.hunk", "  "], " ": ["span", "  "] };

// An address is shown, never followed: what a model links to is not to be trusted.
function drawLink(words, address) {
  return make("span.link", ...words, words.length === 1 && words[0] === address ? null : make("span.address", ` ${address}`));
}

function drawPiece(piece) {
  if (typeof piece === "string") return piece;
  const [kind, inside, address] = piece;
  if (kind === "code") return make("code", inside);
  if (kind === "link") return drawLink(inside.map(drawPiece), address);
  if (kind === "image") return drawLink([`[image: ${inside}]`], address);
  return make(PIECES[kind] ?? "span", ...inside.map(drawPiece));
}

const pieces = (list) => list.map(drawPiece);
const items = (list) => list.map((blocks) => make("li", ...drawBlocks(blocks)));

/** Lines with their signs: "+", "-", "@" or " ". @param {[string, string][]} lines @param {string} label */
export function drawLines(lines, label) {
  const drawn = lines.map(([sign, text]) => {
    const [kind, mark] = SIGNS[sign] ?? SIGNS[" "];
    return make(`${kind}.line`, `${mark}${text}\n`);
  });
  return make("pre.diff", { tabIndex: 0, role: "group", "aria-label": label }, ...drawn);
}

function drawTable(rows) {
  const [head, ...body] = rows.map((row) => row.map(pieces));
  return make(
    "div.scroll",
    { tabIndex: 0, role: "group", "aria-label": "Table" },
    make("table", make("thead", make("tr", ...head.map((cell) => make("th", { scope: "col" }, ...cell)))), make("tbody", ...body.map((row) => make("tr", ...row.map((cell) => make("td", ...cell)))))),
  );
}

function drawArguments(members) {
  return make("dl.arguments", ...members.map(([name, value]) => make("div", make("dt", name), make("dd", { dir: "auto" }, value))));
}

const BLOCKS = {
  p: (inside) => make("p", { dir: "auto" }, ...pieces(inside)),
  h: (level, inside) => make(`p.heading.level${Number(level)}`, { dir: "auto" }, ...pieces(inside)),
  pre: (language, text) => make("pre.code", { tabIndex: 0, role: "group", "aria-label": `Code ${language}`.trim() }, text),
  quote: (inside) => make("blockquote", ...drawBlocks(inside)),
  hr: () => make("hr"),
  ul: (list) => make("ul", ...items(list)),
  ol: (start, list) => make("ol", { start }, ...items(list)),
  table: drawTable,
  args: drawArguments,
  command: (text) => make("pre.command", { tabIndex: 0, role: "group", "aria-label": "Command" }, text),
  diff: (lines) => drawLines(lines, "The edit, line by line"),
  more: (words) => make("p.small", words),
};

/** The elements of blocks. @param {any[]} blocks */
export function drawBlocks(blocks) {
  return blocks.map(([kind, ...rest]) => (BLOCKS[kind] ?? (() => null))(...rest)).filter(Boolean);
}
