// The start: messages, theme, and the page.

import { h, render } from "./vendor.js";
import { loadMessages } from "./text.js";
import { App } from "./shell.js";

try {
  document.documentElement.dataset.theme = localStorage.getItem("theme") ?? "";
} catch {
  // a browser that stores nothing has no chosen theme
}
await loadMessages();
const root = document.getElementById("app");
if (root) {
  root.replaceChildren();
  render(h(App, {}), root);
}
