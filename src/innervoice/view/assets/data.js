// Where the page gets its data: from the server that served it, or, in an exported file, from the file itself.

const embedded = document.getElementById("data");
export const exported = embedded && JSON.parse(embedded.textContent);

/** The URL of a route, relative to this module: the viewer may be below any path. @param {string} path @param {object} parameters */
export function route(path, parameters = {}) {
  return new URL(`../api/${path}?${new URLSearchParams(parameters)}`, import.meta.url).href;
}

/** The server's response; an error has its message. @param {string} path @param {object} [parameters] */
export async function ask(path, parameters) {
  const answer = await fetch(route(path, parameters));
  const said = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(said.error ?? `The server answered ${answer.status}.`);
  return said;
}
