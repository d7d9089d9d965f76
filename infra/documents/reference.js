// The search of the page /docs over its own words: every operation, event, schema, credential and error.

const MOST = 30;
const field = document.getElementById("search");
const [count, list] = [document.getElementById("count"), document.getElementById("found")];

/** What can be found, read from the page at the first search: its anchor, its title, its words. */
let index;
const entries = () => [...document.querySelectorAll("main article[id], main dt[id]")].map((each) => {
  const [title, rest] = each.localName === "dt" ? [each, each.nextElementSibling] : [each.querySelector("h3"), each];
  const id = each.id.replaceAll("_", " ");
  return { href: `#${each.id}`, title: title.textContent, name: `${each.id} ${id} ${title.textContent}`.toLowerCase(), text: `${each.id} ${id} ${rest.textContent}`.toLowerCase() };
});

function search() {
  index ??= entries();
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  const has = (text) => words.every((word) => text.includes(word));
  const found = words.length ? index.filter(({ name, text }) => has(`${name} ${text}`)) : [];
  const first = [...found.filter(({ name }) => has(name)), ...found.filter(({ name }) => !has(name))];
  list.replaceChildren(...first.slice(0, MOST).map(({ href, title }) => {
    const [item, link] = [document.createElement("li"), document.createElement("a")];
    Object.assign(link, { href, textContent: title });
    item.append(link);
    return item;
  }));
  count.textContent = words.length ? `${found.length || "Nothing"} found${found.length > MOST ? `, the first ${MOST} are listed` : ""}` : "";
}

field.addEventListener("input", search);
addEventListener("keydown", (event) => {
  if (event.target.matches("input") || event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  field.focus();
});
document.getElementById("finder").hidden = false;
