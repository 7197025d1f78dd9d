// Reads lines `{"texts": [...]}`, and answers with the HTML of every text by every parser, with raw HTML allowed.
import { createInterface } from "node:readline";
import * as commonmark from "commonmark";
import MarkdownIt from "markdown-it";
import { marked } from "marked";
import { micromark } from "micromark";
import { gfm, gfmHtml } from "micromark-extension-gfm";

const linkifying = new MarkdownIt({ html: true, linkify: true });
const strict = new MarkdownIt("commonmark", { html: true });
const raw = { allowDangerousHtml: true };
const parsers = {
  "commonmark.js": (text) => new commonmark.HtmlRenderer().render(new commonmark.Parser().parse(text)),
  marked: (text) => marked.parse(text),
  "markdown-it": (text) => linkifying.render(text),
  "markdown-it, CommonMark": (text) => strict.render(text),
  micromark: (text) => micromark(text, raw),
  "micromark, GitHub": (text) =>
    micromark(text, { ...raw, extensions: [gfm()], htmlExtensions: [gfmHtml()] }),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { texts } = JSON.parse(line);
  const pages = texts.map((text) =>
    Object.fromEntries(Object.entries(parsers).map(([name, parse]) => [name, parse(text)])),
  );
  console.log(JSON.stringify(pages));
}
