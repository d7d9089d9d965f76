// The page's own files. The import map names them after their content, so a deployment replaces them under other names.

import { Trouble } from "./link.js";

const FILE_TIMEOUT = 15_000; // milliseconds

/** Imports a module of the page. The browser compares its file, and those that it imports, with the hashes in the page. */
export async function asset(name) {
  // Browsers from before 2025 do not know the hashes of an import map, but those of what is loaded ahead.
  for (const each of document.querySelectorAll(`link[data-for~="${name}"]`)) each.rel = "modulepreload";
  return import(`./${name}`).catch(lacking);
}

/** Fetches the messages of a language, or of a group of links in it. */
export async function wordsOf(name) {
  const url = import.meta.resolve(`./locales/${name}.json`);
  const response = await fetch(url, { signal: AbortSignal.timeout(FILE_TIMEOUT) });
  return response.ok ? response.json() : lacking();
}

/** Loads the page again if a deployment has replaced it; what was sent stands in the notes. Else throws Trouble `away`. */
async function lacking() {
  const own = document.querySelector('script[type="importmap"]').textContent;
  const response = await fetch(location.href, { cache: "no-store" }).catch(() => null);
  if (!response?.ok || (await response.text()).includes(own)) throw new Trouble("away");
  location.reload();
  return new Promise(() => {}); // the page that is loaded goes on
}
