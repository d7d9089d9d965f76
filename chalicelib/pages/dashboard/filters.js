// Filters of a list, which stand in the query of its view's URL.

import { html, useState } from "./vendor.js";
import { t, word } from "./text.js";
import { Link, address, go } from "./route.js";
import { Field, Form } from "./components.js";

/** @param {URLSearchParams} given The query as filters of the API: days, which are those of UTC, from their first moment to their last. */
export function filtersOf(given) {
  const { fromDate, toDate, ...others } = /** @type {Record<string, string>} */ (Object.fromEntries(given));
  return { ...others, fromDate: fromDate && `${fromDate}T00:00:00Z`, toDate: toDate && `${toDate}T23:59:59.999Z` };
}

/** @param {any} props Fields of these names for the query that is `given`, of which `choices` have a list of values, and `hints` a hint. Its key is the query. */
export function Filters({ view, given, names, choices, hints = {} }) {
  const [typed, setTyped] = useState(/** @type {Record<string, string>} */ (Object.fromEntries(given)));
  const apply = async () => go(address(view, "", Object.fromEntries(Object.entries(typed).map(([name, value]) => [name, value.trim()]))));
  return html`
    <details class="card filter" open=${given.size > 0}>
      <summary>${t("filter")}</summary>
      <${Form} send=${apply} label=${t("filter.apply")} quiet>
        <div class="filters">
          ${names.map((/** @type {string} */ name) => {
            const onValue = (/** @type {string} */ value) => setTyped({ ...typed, [name]: value });
            const facts = { label: t(`filter.${name}`), hint: hints[name], value: typed[name] ?? "", onValue };
            if (!choices[name]) return html`<${Field} key=${name} type=${name.endsWith("Date") ? "date" : "text"} ...${facts} />`;
            return html`<${Field} key=${name} is="select" ...${facts}><option value="">${t("any")}</option>${choices[name].map((/** @type {string} */ each) => html`<option key=${each} value=${each}>${word(name, each)}</option>`)}<//>`;
          })}
        </div>
      <//>
      ${given.size > 0 && html`<p><${Link} view=${view}>${t("filter.clear")}<//></p>`}
    </details>
  `;
}
