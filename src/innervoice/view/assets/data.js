// Where the page gets its data: from the server that served it, or, in an exported file, from the file itself.

const embedded = document.getElementById("data");
const busy = document.getElementById("busy");
export const exported = embedded && JSON.parse(embedded.textContent);
let asking = 0;

/** The URL of a route, relative to this module: the viewer may be below any path. @param {string} path @param {object} parameters */
export function route(path, parameters = {}) {
  return new URL(`../api/${path}?${new URLSearchParams(parameters)}`, import.meta.url).href;
}

// A bar, if it takes longer than a moment.
function wait(change) {
  asking += change;
  if (!busy) return;
  if (asking === 0) busy.hidden = true;
  else if (asking === 1) setTimeout(() => (busy.hidden = asking === 0), 120);
}

/** The server's response; an error has its message. @param {string} path @param {object} [parameters] */
export async function ask(path, parameters) {
  wait(1);
  try {
    const answer = await fetch(route(path, parameters));
    const said = await answer.json().catch(() => ({}));
    if (!answer.ok) throw new Error(said.error ?? `The server answered ${answer.status}.`);
    return said;
  } finally {
    wait(-1);
  }
}
