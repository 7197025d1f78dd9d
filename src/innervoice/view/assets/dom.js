// Elements, made without markup: text is always text.

/**
 * An element, as `p.small`; properties may follow (a name with a hyphen is an attribute), then children. What is null is left out.
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

/** Tells something in the status line, which screen readers read out. @param {string} words */
export function say(words) {
  if (byId("status").textContent !== words) byId("status").textContent = words;
}

/** Facts as a line of words; one with a tone has an element of its own. @param {Fact[]} facts */
export function factWords(facts) {
  return facts.flatMap((fact, i) => {
    // Short ones are not broken.
    const label = fact.label.length < 22 ? fact.label.replaceAll(" ", "\u00a0") : fact.label;
    return [i ? " · " : "", fact.tone ? make(`span.tone.${fact.tone}`, label) : label];
  });
}

/** A list of facts with the sentences behind them. @param {string} kind @param {Fact[]} facts */
export function explained(kind, facts) {
  return make(kind, ...facts.map((fact) => make("li", make(fact.tone ? `b.tone.${fact.tone}` : "b", fact.label), fact.why ? ` ${fact.why}` : "")));
}

/** Facts, with the sentences behind them on demand. @param {Fact[]} facts */
export function drawFacts(facts) {
  const whys = facts.filter((fact) => fact.why);
  if (!whys.length) return make("p.sums", ...factWords(facts));
  return make("details.sums", make("summary", ...factWords(facts)), explained("ul.whys", whys));
}

/** Calls a function when its event has been quiet for a moment. @param {number} milliseconds @param {(...given: any[]) => void} act */
export function calmly(milliseconds, act) {
  let waiting = 0;
  return (...given) => {
    clearTimeout(waiting);
    waiting = setTimeout(act, milliseconds, ...given);
  };
}
