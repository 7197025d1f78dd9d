// The start: the server's settings, the conversation that the URL names, and its rows.
import { showComparison } from "./compare.js";
import { ask, exported, route } from "./data.js";
import { byId, calmly, make, say } from "./dom.js";
import { drawHead } from "./head.js";
import "./keys.js";
import { startLive, stopLive } from "./live.js";
import { clearOutline, showOutline } from "./outline.js";
import { address, notePlace, place, readPlace } from "./place.js";
import { clearPlan, showPlan, suggestTargets } from "./plan.js";
import { showSearch, takeHitWords } from "./search.js";
import { showPanel, shownPanel } from "./side.js";
import { loadSources, markSource } from "./sources.js";
import { clearTimeline, setPolicy } from "./timeline.js";
import { goTo, openWindow } from "./window.js";

let about;
let shown = "";
let openings = 0;
let visits = 0;

function fail(error) {
  byId("head").replaceChildren(make("h1", "This could not be shown"), make("p.bad", error.message));
  byId("end").textContent = "";
}

async function open(id, wanted = { n: -1, words: "" }) {
  openings += 1;
  const mine = openings;
  stopLive();
  shown = id;
  clearTimeline(id);
  clearPlan();
  clearOutline();
  byId("end").textContent = "Reading…";
  const piece = await openWindow(id, wanted, (read) => {
    drawHead(read.head);
    markSource(read.head.source.id);
    shown = place.c = read.head.id;
    linkExports();
    byId("end").textContent = read.is_early ? "Reading the rest…" : "";
  });
  if (!piece || mine !== openings) return;
  if (about.is_live) startLive(shown, piece.event ?? "", { reset: () => open(shown, { n: Number(place.n || -1), words: "" }).then(planAgain, fail), sources: () => loadSources(), changed: planAgain });
  await showOutline(shown, goTo);
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
  const wanted = { n: Number(place.n || -1), words: takeHitWords() };
  if (!place.c) {
    const first = exported ? exported.first : (await loadSources())?.first;
    if (mine !== visits) return;
    if (!first) throw new Error("There is no source that can be opened.");
    notePlace({ c: first });
  }
  const isNew = place.c !== shown;
  if (!isNew) await goTo(wanted.n, wanted.words);
  else await open(place.c, wanted);
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
function remembered(name, value) {
  try {
    if (value) localStorage.setItem(name, value);
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

function useForm(form) {
  document.documentElement.dataset.form = form;
  byId("source-button").setAttribute("aria-pressed", String(form === "source"));
}

function usePolicy(policy) {
  for (const radio of byId("policy").querySelectorAll("input")) radio.checked = radio.value === policy;
  setPolicy(policy);
  linkExports();
}

// The command opens two runs by the first address, which alone takes the token.
function isAboutRuns() {
  const members = new URLSearchParams(location.hash.slice(1));
  if (exported || !members.has("runs")) return false;
  members.delete("runs");
  location.replace(`runs#${members}`);
  return true;
}

async function start() {
  if (isAboutRuns()) return;
  about = exported ? exported.about : await ask("about");
  // What was chosen while the page was loading counts most.
  const early = /** @type {HTMLInputElement | null} */ (byId("policy").querySelector("input:checked"));
  usePolicy(early?.value ?? (exported ? null : remembered("policy")) ?? about.policy);
  byId("policy").addEventListener("change", ({ target }) => {
    remembered("policy", target.value);
    usePolicy(target.value);
  });
  useForm((exported ? null : remembered("form")) ?? "rich");
  byId("source-button").addEventListener("click", () => {
    const form = document.documentElement.dataset.form === "rich" ? "source" : "rich";
    remembered("form", form);
    useForm(form);
  });
  suggestTargets(about.targets);
  byId("filter-models").replaceChildren(...about.targets.map((target) => make("option", { value: target.split("/").pop() })));
  if (about.has_usage) byId("help-button").before(make("a.small", { href: "usage" }, "Usage"));
  readPlace();
  for (const id of exported ? ["plan-button", "compare-button", "export", "everywhere-label"] : []) byId(id).hidden = true;
  if (place.c && !exported) loadSources().catch((error) => say(error.message));
  if (about.target && !location.hash) history.replaceState(null, "", address({ for: about.target }));
  addEventListener("hashchange", () => showPlace().catch(fail));
  await showPlace();
}

start().catch(fail);
