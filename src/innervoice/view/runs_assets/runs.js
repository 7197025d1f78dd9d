// Two runs side by side: what they took, and their turns at the same places.
import { drawBlocks } from "./blocks.js";
import { ask, exported, route } from "./data.js";
import { byId, factWords, make, say } from "./dom.js";

const SIDES = ["left", "right"];
let asked = 0;

function chosen() {
  const members = new URLSearchParams(location.hash.slice(1));
  return { a: members.get("a") ?? "", b: members.get("b") ?? "" };
}

function drawSums({ left, right, sums }) {
  const head = make("tr", make("td", ""), ...[left, right].map((run) => make("th", { scope: "col" }, make("bdi", run.title || "a run"), make("br"), make("span.small", ...factWords(run.facts)))));
  const rows = sums.map((sum) => make("tr", make("th", { scope: "row" }, sum.name), ...SIDES.map((side) => make(sum.more === side ? "td.more" : "td", sum[side]))));
  return make("div.scroll", { tabIndex: 0, role: "group", "aria-label": "What the runs took" }, make("table", make("thead", head), make("tbody", ...rows)));
}

function drawText({ text, blocks }) {
  return blocks ? make("div.rich", ...drawBlocks(blocks)) : make("div.text", { dir: "auto" }, text);
}

function drawCell(cell, run) {
  if (!cell) return make("div.side.none", "nothing here");
  return make(
    "div.side",
    make("span.who", ...factWords(run.facts.slice(0, 1))),
    ...cell.thoughts.map((thought) => make("div.thought", drawText(thought))),
    cell.answer.text ? drawText(cell.answer) : null,
    ...cell.calls.map((call) => make("div.call", make(call.tone ? `b.${call.tone}` : "b", call.label), call.tone ? " failed " : " ", call.why ?? "")),
    cell.facts.length ? make("p.small", ...factWords(cell.facts)) : null,
  );
}

function drawRow(row, { left, right }) {
  const isSame = row.kind === "prompt" && row.left && row.right && row.left.answer.text === row.right.answer.text;
  const cells = isSame ? [drawCell(row.left, left), make("div.side.same", "the same prompt")] : [drawCell(row.left, left), drawCell(row.right, right)];
  return make(`section.pair.${row.kind === "prompt" ? "prompt" : "step"}`, make("h2", row.name), ...cells);
}

function draw(view) {
  byId("sums").replaceChildren(drawSums(view));
  byId("rows").replaceChildren(...view.rows.map((row) => drawRow(row, view)));
  byId("end").textContent = view.is_cut ? `The first ${view.rows.length.toLocaleString("en")} places are shown.` : "";
  performance.mark("rows");
}

function option(source) {
  return make("option", { value: source.first }, [source.title || source.path, ...source.facts.slice(0, 1).map((fact) => fact.label), source.time ?? ""].filter(Boolean).join(" · "));
}

async function listRuns() {
  const { sources } = await ask("sources");
  const { a, b } = chosen();
  for (const [side, id] of [["left", a], ["right", b]]) {
    const options = sources.filter((source) => source.first).map(option);
    byId(side).replaceChildren(make("option", { value: "" }, "choose a run"), ...options);
    if (id && !options.some((one) => one.value === id)) byId(side).append(make("option", { value: id }, "the chosen conversation"));
    byId(side).value = id;
  }
}

async function show() {
  const { a, b } = chosen();
  asked += 1;
  const mine = asked;
  byId("export").hidden = !a || !b;
  if (!a || !b) {
    byId("sums").replaceChildren();
    byId("rows").replaceChildren();
    byId("end").textContent = "Choose two runs: the same prompt on two models, or with two efforts.";
    return;
  }
  byId("end").textContent = "Reading…";
  const view = await ask("runs", { a, b });
  if (mine !== asked) return;
  byId("export").href = route("runs/export", { a, b, show: "full" });
  draw(view);
  say(`${view.rows.length} places are compared.`);
}

function fail(error) {
  byId("end").replaceChildren(make("span.bad", error.message));
}

byId("choice").addEventListener("change", () => {
  location.hash = new URLSearchParams({ a: byId("left").value, b: byId("right").value });
});
byId("choice").addEventListener("submit", (event) => event.preventDefault());
byId("skip").addEventListener("click", () => byId("main").focus());
if (exported) {
  for (const id of ["pages", "choice", "export"]) byId(id).hidden = true;
  draw(exported.runs);
} else {
  byId("pages").append(make("a", { href: "./" }, "Sessions"));
  addEventListener("hashchange", () => show().catch(fail));
  listRuns().catch(fail);
  show().catch(fail);
}
