// The page about usage: the sums of a request log in words, drawn over time, and as tables; the filters are in the URL.
import { ask, route } from "./data.js";
import { byId, calmly, make, say } from "./dom.js";

const NAMES = ["provider", "model", "key"];
const ALL = { provider: "all providers", model: "all models", key: "all keys" };
const HOUR = 3600;
const HEIGHT = 190;
const LEFT = 46;
const BOTTOM = 20;
const namespace = byId("drawing").namespaceURI;
const filters = { days: "7", provider: "", model: "", key: "" };
let shown;
let asked = 0;

const whole = (number) => number.toLocaleString("en");
const short = (number) => Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }).format(number);
const seconds = (number) => `${number >= 10 ? Math.round(number) : Number(number.toPrecision(2))} s`;
const share = (part, all) => (all ? `${Math.round((100 * part) / all)} %` : "–");

function money(number) {
  if (number === null) return "–";
  if (number > 0 && number < 0.01) return "< $0.01";
  return `$${number.toLocaleString("en", { minimumFractionDigits: number < 100 ? 2 : 0, maximumFractionDigits: number < 100 ? 2 : 0 })}`;
}

function draw(kind, attributes, ...children) {
  const element = document.createElementNS(namespace, kind);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// A number that is easy to read, a little above the largest one.
function top(most) {
  if (!most) return 1;
  const unit = 10 ** Math.floor(Math.log10(most));
  return [1, 1.2, 1.6, 2, 3, 4, 5, 6, 8, 10].map((times) => times * unit).find((round) => round >= most);
}

function when(at, step) {
  const options = step === "hour" ? { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } : { month: "short", day: "numeric" };
  return new Date(at * 1000).toLocaleString("en", { ...options, timeZone: "UTC" });
}

// What each chart shows: parts that are stacked, from the bottom.
const CHARTS = [
  {
    title: "Output tokens",
    wide: true,
    sum: ({ output_tokens: output, reasoning_tokens: thought, unsplit_tokens: unsplit }) => whole(output) + (unsplit < output ? `, of which ${whole(thought)} thinking` : ""),
    parts: [
      ["thinking", "part-a", (sums) => sums.reasoning_tokens],
      ["answer", "part-b", (sums) => sums.output_tokens - sums.reasoning_tokens - sums.unsplit_tokens],
      ["not split by the provider", "part-c", (sums) => sums.unsplit_tokens],
    ],
    words: whole,
    axis: short,
  },
  {
    title: "Cost",
    sum: ({ cost, reasoning_cost: thought }) => (cost === null ? "no public price is known" : `about ${money(cost)}, of which ${money(thought)} thinking`),
    parts: [
      ["thinking", "part-a", (sums) => sums.reasoning_cost ?? 0],
      ["everything else", "part-b", (sums) => (sums.cost ?? 0) - (sums.reasoning_cost ?? 0)],
    ],
    words: money,
    axis: (number) => `$${short(number)}`,
  },
  {
    title: "Requests",
    sum: ({ requests, errors }) => `${whole(requests)}, ${errors ? `${whole(errors)} with an error` : "no error"}`,
    parts: [
      ["with an error", "part-bad", (sums) => sums.errors],
      ["answered", "part-b", (sums) => sums.requests - sums.errors],
    ],
    words: whole,
    axis: short,
  },
  {
    title: "Thoughts in histories",
    sum: ({ kept, restored, omitted }) => `${whole(kept)} kept, ${whole(restored)} of them restored; ${whole(omitted)} omitted`,
    parts: [
      ["restored", "part-good", (sums) => sums.restored],
      ["kept as sent", "part-b", (sums) => Math.max(0, sums.kept - sums.restored)],
      ["omitted", "part-warn", (sums) => sums.omitted],
    ],
    words: whole,
    axis: short,
  },
  {
    title: "Time to the first piece",
    sum: ({ first }) => (first ? `half within ${seconds(first.p50)}, 95 % within ${seconds(first.p95)}, the longest ${seconds(first.max)}` : "not measured"),
    parts: [
      ["half of the answers", "part-a", (sums) => sums.first?.p50 ?? 0],
      ["95 % of the answers", "part-b", (sums) => (sums.first ? sums.first.p95 - sums.first.p50 : 0)],
    ],
    // The second part is what is added to the first.
    table: [
      ["half within", (sums) => (sums.first ? seconds(sums.first.p50) : "–")],
      ["95 % within", (sums) => (sums.first ? seconds(sums.first.p95) : "–")],
      ["longest", (sums) => (sums.first ? seconds(sums.first.max) : "–")],
    ],
    words: seconds,
    axis: seconds,
  },
];

const columnsOf = ({ parts, words, table }) => table ?? parts.map(([name, , value]) => [name, (sums) => words(value(sums))]);

function drawBars(svg, chart, { steps, step }, width) {
  const most = top(Math.max(...steps.map((sums) => chart.parts.reduce((sum, [, , value]) => sum + value(sums), 0))));
  const room = (width - LEFT) / steps.length;
  const high = HEIGHT - BOTTOM - 8;
  const gap = Math.min(room * 0.25, 8);
  for (const line of [0, 0.5, 1]) {
    const y = Math.round(8 + high * (1 - line)) + 0.5;
    svg.append(draw("line", { class: "grid", x1: LEFT, x2: width, y1: y, y2: y }));
    svg.append(draw("text", { x: LEFT - 8, y: y + 4, "text-anchor": "end" }, chart.axis(most * line)));
  }
  const every = Math.ceil(52 / room);
  steps.forEach((sums, i) => {
    const x = LEFT + i * room;
    let bottom = 8 + high;
    for (const [, kind, value] of chart.parts) {
      const tall = (high * value(sums)) / most;
      bottom -= tall;
      if (tall > 0) svg.append(draw("rect", { class: kind, x: x + gap / 2, y: bottom, width: Math.min(room - gap, 80), height: tall }));
    }
    if (i % every === 0 && x + 44 < width + 12) svg.append(draw("text", { x: x + gap / 2, y: HEIGHT - 3 }, when(sums.at, step)));
    const facts = columnsOf(chart).map(([name, words]) => `${name}: ${words(sums)}`);
    svg.append(draw("rect", { class: "step", x, y: 8, width: room, height: high }, draw("title", {}, `${when(sums.at, step)} UTC\n${facts.join("\n")}`)));
  });
}

function drawTable(caption, heads, rows) {
  return make(
    "div.scroll",
    { tabIndex: 0, role: "region", "aria-label": caption },
    make(
      "table",
      make("thead", make("tr", ...heads.map((head) => make("th", { scope: "col" }, head)))),
      make("tbody", ...rows.map(([first, ...cells]) => make("tr", make("th", { scope: "row" }, first), ...cells.map((cell) => make("td", cell))))),
    ),
  );
}

function drawChart(chart, data) {
  if (!chart.parts.some(([, , value]) => data.steps.some(value))) {
    byId("charts").append(make("figure.nothing", make("h2", chart.title, make("span.sum", chart.sum(data.total)))));
    return;
  }
  const legend = chart.parts.filter(([, , value]) => data.steps.some(value)).map(([name, kind]) => {
    const mark = draw("svg", { viewBox: "0 0 10 10", "aria-hidden": "true" }, draw("rect", { class: kind, width: 10, height: 10, rx: 2 }));
    return make("span", mark, name);
  });
  const svg = draw("svg", { class: "chart", role: "img", "aria-label": `${chart.title}: ${chart.sum(data.total)}` });
  const heads = [data.step === "hour" ? "hour (UTC)" : "day (UTC)", ...columnsOf(chart).map(([name]) => name)];
  const rows = data.steps.map((sums) => [when(sums.at, data.step), ...columnsOf(chart).map(([, words]) => words(sums))]);
  const figure = make(
    chart.wide ? "figure.wide" : "figure",
    make("h2", chart.title, make("span.sum", chart.sum(data.total))),
    make("p.legend", ...legend),
    svg,
    make("details", make("summary", "as a table"), drawTable(`${chart.title} by ${data.step}`, heads, rows)),
  );
  byId("charts").append(figure);
  const width = Math.max(200, svg.parentElement.clientWidth - 36);
  svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
  drawBars(svg, chart, data, width);
}

function drawNames(title, what, entries, total) {
  const heads = [title, "share of output", "requests", "errors", "input", "output", "thinking", "cost", "kept", "restored", "omitted", "first piece, half / 95 %"];
  const rows = entries.map((sums) => {
    const part = total.output_tokens ? (100 * sums.output_tokens) / total.output_tokens : 0;
    const bar = draw("svg", { class: "share", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" }, draw("rect", { class: "part-a", width: part, height: 10 }));
    const name = sums.name ? make("a", { href: address({ [what]: sums.name }), dir: "auto" }, sums.name) : "none";
    const first = sums.first ? `${seconds(sums.first.p50)} / ${seconds(sums.first.p95)}` : "–";
    const split = sums.output_tokens - sums.unsplit_tokens;
    const numbers = [sums.requests, sums.errors, sums.input_tokens, sums.output_tokens].map(whole);
    const thoughts = [sums.kept, sums.restored, sums.omitted].map(whole);
    return [name, make("span", bar, share(sums.output_tokens, total.output_tokens)), ...numbers, share(sums.reasoning_tokens, split), money(sums.cost), ...thoughts, first];
  });
  return make("section.names", make("h2", `By ${what}`), drawTable(`Usage by ${what}`, heads, rows));
}

// What a gateway without a log has counted itself.
function drawMetrics({ since, providers }) {
  const names = ["requests", "errors", "input", "output", "reasoning", "kept", "restored", "omitted"];
  const rows = providers.map((counts) => [counts.provider, ...names.map((name) => whole(counts[name] ?? 0))]);
  const start = new Date(since * 1000).toLocaleString("en", { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" });
  return make(
    "section.names",
    make("h2", `Counted since ${start} UTC`),
    make("p.small", "No request is logged now, so these are the counts since the gateway started; they are gone when it stops."),
    rows.length ? drawTable("Counts by provider", ["provider", ...names], rows) : make("p", "No request yet."),
  );
}

function drawEmpty() {
  const isFiltered = NAMES.some((name) => filters[name]);
  return make(
    "div.empty",
    make("p", isFiltered ? "No request in this period fits these filters." : "There is no request in this period."),
    make("p", "A gateway keeps what this page needs if it is started with ", make("code", "innervoice serve --log shape"), " (no texts) or ", make("code", "--log full"), ". Requests with ", make("code", "x-innervoice-store: off"), " are never here."),
  );
}

function drawChoices({ choices }) {
  for (const name of NAMES) {
    const values = [...new Set([filters[name], ...choices[name]])].filter(Boolean).sort();
    byId(name).replaceChildren(...["", ...values].map((value) => make("option", { value, selected: value === filters[name] }, value || ALL[name])));
    byId(name).hidden = values.length < 2 && !filters[name];
  }
}

function show(data) {
  shown = data;
  const [lead = "Usage", ...words] = data.words;
  byId("lead").textContent = lead.replaceAll(" %", "\u00a0%"); // a number and its sign stay on one line
  byId("words").replaceChildren(...words.map((sentence) => make("li", sentence)));
  byId("notes").textContent = data.notes.join(" ");
  drawChoices(data);
  byId("charts").replaceChildren();
  if (data.total.requests) for (const chart of CHARTS) drawChart(chart, data);
  const tables = data.total.requests ? [drawNames("model", "model", data.models, data.total), drawNames("provider", "provider", data.providers, data.total), drawNames("key", "key", data.keys, data.total)] : [];
  if (data.metrics) tables.unshift(drawMetrics(data.metrics));
  else if (!data.total.requests) tables.push(drawEmpty());
  byId("tables").replaceChildren(...tables);
  say(data.is_partial ? "The log is still being read: there will be more." : "");
}

function address(changes) {
  const members = Object.entries({ ...filters, ...changes });
  return `#${new URLSearchParams(members.filter(([, value]) => value))}`;
}

function query() {
  const step = filters.days === "1" ? "hour" : "day";
  const length = step === "hour" ? HOUR : 24 * HOUR;
  const steps = step === "hour" ? 24 : Number(filters.days);
  const from = (Math.floor(Date.now() / 1000 / length) - steps + 1) * length;
  const names = NAMES.filter((name) => filters[name]).map((name) => [name, filters[name]]);
  return { from, to: from + steps * length, step, ...Object.fromEntries(names) };
}

async function load() {
  asked += 1;
  const mine = asked;
  const members = new URLSearchParams(location.hash.slice(1));
  for (const name of Object.keys(filters)) filters[name] = members.get(name) ?? "";
  if (!["1", "7", "30", "90"].includes(filters.days)) filters.days = "7";
  for (const radio of byId("days").querySelectorAll("input")) radio.checked = radio.value === filters.days;
  const parameters = query();
  byId("csv").href = route("usage.csv", parameters);
  for (let data; !data || data.is_partial; ) {
    data = await ask("usage", parameters);
    if (mine !== asked) return;
    show(data);
  }
}

function fail(error) {
  byId("lead").textContent = "This could not be shown";
  byId("notes").textContent = error.message;
}

byId("filters").addEventListener("change", ({ target }) => {
  location.hash = address({ [target.name || target.id]: target.value });
});
byId("filters").addEventListener("submit", (event) => event.preventDefault());
byId("skip").addEventListener("click", () => byId("main").focus());
addEventListener("hashchange", () => load().catch(fail));
addEventListener("resize", calmly(150, () => shown && show(shown)));
load().catch(fail);
