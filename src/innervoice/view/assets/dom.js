// Elements, created without markup: text is always text.

/**
 * An element, such as `p.small`; properties may follow (a name with a hyphen is an attribute), then children. Null is left out.
 * @param {string} kind
 * @param {...any} rest
 */
export function make(kind, ...rest) {
  const [tag, ...names] = kind.split(".");
  const element = document.createElement(tag);
  if (names.length) element.className = names.join(" ");
  const isSet = rest[0]?.constructor === Object;
  for (const [name, value] of Object.entries(isSet ? rest.shift() : {})) {
    if (value === null) continue;
    if (name.includes("-")) element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...rest.filter((child) => child !== null && child !== undefined));
  return element;
}

/** The element of the page with this id. @param {string} id @returns {any} */
export function byId(id) {
  return document.getElementById(id);
}

/** Shows a message in the status line, which screen readers read out. @param {string} words */
export function say(words) {
  if (byId("status").textContent !== words) byId("status").textContent = words;
}

/** Facts as a line of words; a fact with a tone has its own element. @param {Fact[]} facts */
export function factWords(facts) {
  return facts.flatMap((fact, i) => {
    // Short facts are not wrapped.
    const label = fact.label.length < 22 ? fact.label.replaceAll(" ", "\u00a0") : fact.label;
    return [i ? " · " : "", fact.tone ? make(`span.tone.${fact.tone}`, label) : label];
  });
}

/** A list of facts with their sentences. @param {string} kind @param {Fact[]} facts */
export function explained(kind, facts) {
  return make(kind, ...facts.map((fact) => make("li", make(fact.tone ? `b.tone.${fact.tone}` : "b", fact.label), fact.why ? ` ${fact.why}` : "")));
}

/** Facts, with their sentences on demand. @param {Fact[]} facts */
export function drawFacts(facts) {
  const whys = facts.filter((fact) => fact.why);
  if (!whys.length) return make("p.sums", ...factWords(facts));
  return make("details.sums", make("summary", ...factWords(facts)), explained("ul.whys", whys));
}

/** Calls a function when its event has not occurred for a moment. @param {number} milliseconds @param {(...given: any[]) => void} act */
export function calmly(milliseconds, act) {
  let waiting = 0;
  return (...given) => {
    clearTimeout(waiting);
    waiting = setTimeout(act, milliseconds, ...given);
  };
}
