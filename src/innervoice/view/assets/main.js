// The start: the server's settings, the conversation that the URL names, and its rows, piece by piece.
import { showComparison } from "./compare.js";
import { ask, exported, route } from "./data.js";
import { byId, calmly, make, say } from "./dom.js";
import { drawHead } from "./head.js";
import "./keys.js";
import { startLive, stopLive } from "./live.js";
import { address, notePlace, place, readPlace } from "./place.js";
import { clearPlan, showPlan, suggestTargets } from "./plan.js";
import { showSearch, takeHitWords } from "./search.js";
import { showPanel, shownPanel } from "./side.js";
import { loadSources, markSource } from "./sources.js";
import { clearTimeline, putRow, reveal, setPolicy, settle } from "./timeline.js";

const FIRST = 60;
const AT_ONCE = 200;
const MANY = 10_000;
let about;
let shown = "";
let openings = 0;
let visits = 0;
let wanted = { n: -1, words: "" };

function fail(error) {
  byId("head").replaceChildren(make("h1", "This could not be shown"), make("p.bad", error.message));
  byId("end").textContent = "";
}

async function open(id) {
  openings += 1;
  stopLive();
  shown = id;
  clearTimeline(id);
  clearPlan();
  byId("more-rows").hidden = true;
  byId("end").textContent = "Reading…";
  await draw(id, 0, openings);
}

// Draws rows: a screen first, then the rest in pieces, so that the page stays responsive.
async function draw(id, start, opening) {
  let event = "";
  for (let from = start; from !== null; ) {
    const piece = exported ? exported.conversations[id] : await ask(`c/${id}`, from ? { from } : { to: FIRST });
    if (opening !== openings) return;
    event ||= piece.event ?? "";
    if (!from) {
      drawHead(piece.head);
      markSource(piece.head.source.id);
      linkExports();
    }
    for (let i = 0; i < piece.rows.length; i += AT_ONCE) {
      piece.rows.slice(i, i + AT_ONCE).forEach(putRow);
      settle();
      performance.mark("rows");
      if (await reveal(wanted.n, wanted.words)) wanted.n = -1;
      await new Promise((go) => setTimeout(go));
      if (opening !== openings) return;
    }
    from = piece.next;
    byId("end").textContent = from ? `${from.toLocaleString("en")} of ${piece.total.toLocaleString("en")} rows` : "";
    if (from >= start + MANY && wanted.n < from) {
      byId("more-rows").hidden = false;
      byId("more-rows").onclick = () => {
        byId("more-rows").hidden = true;
        draw(id, from, opening).catch(fail);
      };
      return;
    }
  }
  if (about.is_live) startLive(id, event, { reset: () => open(id).then(planAgain, fail), sources: () => loadSources(), changed: planAgain });
}

const planAgain = calmly(1000, () => place.for && showPlan(place.for, true));

function linkExports() {
  const { policy } = document.documentElement.dataset;
  const forms = Object.entries({ html: "one HTML file", markdown: "Markdown", json: "JSON" });
  const links = forms.map(([form, words]) => make("li", make("a", { href: route(`export/${shown}`, { form, show: policy }), download: "" }, words)));
  byId("export-forms").replaceChildren(...links, make("li.small", `thoughts: ${policy}; secrets are taken out`));
}

// Shows what the URL names.
async function showPlace() {
  visits += 1;
  const mine = visits;
  readPlace();
  wanted = { n: Number(place.n || -1), words: takeHitWords() };
  if (!place.c) {
    const first = exported ? exported.first : (await loadSources())?.first;
    if (mine !== visits) return;
    if (!first) throw new Error("There is no source that can be opened.");
    notePlace({ c: first });
  }
  const isNew = place.c !== shown;
  if (!isNew) await reveal(wanted.n, wanted.words);
  else await open(place.c);
  if (mine !== visits) return;
  if (place.for) {
    if (!shownPanel()) showPanel("plan");
    await showPlan(place.for, isNew);
  }
  if ((place.a || place.b) && shownPanel() !== "found") showPanel("compare");
  if (shownPanel() === "compare") await showComparison();
  await showSearch(place.q);
}

// A browser may forbid storage.
function remembered(policy) {
  try {
    if (policy) localStorage.setItem("policy", policy);
    return localStorage.getItem("policy");
  } catch {
    return null;
  }
}

function usePolicy(policy) {
  for (const radio of byId("policy").querySelectorAll("input")) radio.checked = radio.value === policy;
  setPolicy(policy);
  linkExports();
}

async function start() {
  about = exported ? exported.about : await ask("about");
  usePolicy((exported ? null : remembered()) ?? about.policy);
  byId("policy").addEventListener("change", ({ target }) => {
    remembered(target.value);
    usePolicy(target.value);
  });
  suggestTargets(about.targets);
  if (about.has_usage) byId("help-button").before(make("a.small", { href: "usage" }, "Usage"));
  readPlace();
  for (const id of exported ? ["plan-button", "compare-button", "export", "everywhere-label"] : []) byId(id).hidden = true;
  if (place.c && !exported) loadSources().catch((error) => say(error.message));
  if (about.target && !location.hash) history.replaceState(null, "", address({ for: about.target }));
  addEventListener("hashchange", () => showPlace().catch(fail));
  await showPlace();
}

start().catch(fail);
