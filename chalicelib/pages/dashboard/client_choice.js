// Which client id a link or request is created for, whose branding, domain, fee and webhooks hold for it then.

import { html } from "./vendor.js";
import { clean, t } from "./text.js";
import { call, may } from "./api.js";
import { Field } from "./components.js";

/** @returns {Promise<any[]>} The client ids of the account that are in use; none for who may not read them. */
export const readClients = async () =>
  may("client_ids:read") ? (await call("GET", "/v1/client-ids")).filter((/** @type {any} */ each) => each.status === "active") : [];

/** @param {any} props Nothing is shown to who has none to choose. */
export const ClientChoice = ({ clients, value, onValue, hint, problem }) => clients.length > 0 && html`
  <${Field} is="select" label=${t("client.id")} hint=${hint ?? t("create.client.hint")} value=${value} onValue=${onValue} problem=${problem}>
    <option value="">${t("create.client.none")}</option>
    ${clients.map((/** @type {any} */ each) => html`<option key=${each.id} value=${each.clientId}>${clean(each.label)}</option>`)}
  <//>
`;
