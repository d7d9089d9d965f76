// The view that the URL names: {root}/dashboard/{view}/{id}?{query}#{secret}. Every view can be shared by its URL.

import { h, signal } from "./vendor.js";
import { ROOT } from "./api.js";

/** @typedef {{ view: string, id: string, query: URLSearchParams, hash: string }} Route */

/** @returns {Route} */
function read() {
  const [view = "", id = ""] = location.pathname.slice(`${ROOT}/dashboard`.length).split("/").filter(Boolean);
  return { view: view || "home", id: decode(id), query: new URLSearchParams(location.search), hash: location.hash.slice(1) };
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export const route = signal(read());
addEventListener("popstate", () => (route.value = read()));

/** @param {string} view @param {string} [id] @param {Record<string, string>} [values] The URL of a view. */
export function address(view, id = "", values = {}) {
  const given = Object.entries(values).filter(([, value]) => value !== "");
  const path = [`${ROOT}/dashboard`, view === "home" ? "" : view, id && encodeURIComponent(id)].filter(Boolean).join("/");
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}

/** @param {string} url @param {boolean} [replaces] Shows the view of a URL of the dashboard. */
export function go(url, replaces = false) {
  history[replaces ? "replaceState" : "pushState"](null, "", url);
  route.value = read();
  if (!replaces) scrollTo(0, 0);
}

/** @param {any} props A link to a view, which loads no new page. */
export function Link({ view, id, query: values, children, ...others }) {
  const href = address(view, id, values);
  const onClick = (/** @type {MouseEvent} */ event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    go(href);
  };
  return h("a", { href, onClick, ...others }, children);
}
