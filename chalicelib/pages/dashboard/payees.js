// The payee destination of the wallet that is signed in; every destination is in the wallet's hands alone.

import { html, useState } from "./vendor.js";
import { short, t, time } from "./text.js";
import { call, chainName, may, me } from "./api.js";
import { Confirmed, Copy, Empty, Field, Form, Loaded, Title, useLoad } from "./components.js";

function Payees() {
  const wallets = me.value.type === "wallet" ? [{ id: me.value.address, name: me.value.address }] : []; // that of the session alone, which others may not read either
  const hasWallet = me.value.identities.some((/** @type {any} */ each) => each.type === "wallet");
  const loaded = useLoad(async () => (wallets.length ? call("GET", "/v1/payee-destination") : null), []);
  return html`
    <${Title}>${t("nav.payees")}<//>
    <p class="hint">${t("payee.text")}</p>
    <${Loaded} of=${loaded}>
      ${(/** @type {any} */ found) => html`
        ${found ? html`<${Destination} of=${found} again=${loaded.again} />` : html`<${Empty} title=${t("payee.none")} text=${t(wallets.length ? "payee.none.text" : hasWallet ? "payee.none.session" : "payee.none.wallet")} />`}
        ${may("payee_destinations:write") && wallets.length > 0 && html`<${SetDestination} key=${found?.destinationId} found=${found} wallets=${wallets} again=${loaded.again} />`}
      `}
    <//>
  `;
}

/** @param {any} props What is known of a destination, by the names of its facts. */
const Facts = ({ of: facts }) => html`
  <dl>${facts.map((/** @type {[string, any]} */ [name, value]) => html`<div class="row" key=${name}><dt>${t(name)}</dt><dd>${value}</dd></div>`)}</dl>
`;

/** @param {any} found @returns {any[]} Whose destination it is, where it is paid, and since when there is one. */
const factsOf = (found) => [
  ["payee.wallet", html`<${Copy} text=${found.walletAddress} />`], ["token", html`<${Copy} text=${found.tokenAddress} />`],
  ["payee.chain", chainName(found.chainId)], ["created", time(found.createdAt)],
];

/** @param {any} props */
function Destination({ of: found, again }) {
  const act = () => call("PATCH", "/v1/payee-destination/deactivate", { body: { destinationId: found.destinationId } });
  return html`
    <section class="card">
      <${Facts} of=${[...factsOf(found), ["payee.id", html`<${Copy} text=${found.destinationId} />`], ["state", t(found.active ? "active" : "off")]]} />
      ${found.active && may("payee_destinations:write") && html`
        <${Confirmed} label=${t("payee.off")} question=${t("payee.off.question", { wallet: short(found.walletAddress) })} act=${act} done=${again}>
          <${Facts} of=${factsOf(found)} />
          <p class="hint">${t("payee.off.kept")}</p>
        <//>
      `}
    </section>
  `;
}

/** @param {any} props Sets the destination of a wallet that has none, or changes the one that is `found`, once somebody has read what that does. */
function SetDestination({ found, wallets, again }) {
  const [id, setId] = useState("");
  const [wallet, setWallet] = useState(wallets[0].name);
  const currencies = useLoad(() => call("GET", "/v2/currencies"), []);
  const tokens = (currencies.data ?? []).filter((/** @type {any} */ each) => each.type === "ERC20" && each.chainId);
  const present = tokens.find((/** @type {any} */ each) => each.address === found?.tokenAddress && String(each.chainId) === String(found?.chainId));
  const token = tokens.find((/** @type {any} */ each) => each.id === id) ?? present ?? tokens[0];
  const act = () => call(found ? "PUT" : "POST", "/v1/payee-destination", { body: { tokenAddress: token.address, chainId: token.chainId, walletAddress: wallet } });
  const send = async () => {
    await act();
    again();
  };
  const fields = html`
    <${Field} is="select" label=${t("payee.wallet")} value=${wallet} onValue=${setWallet}>${wallets.map((/** @type {any} */ each) => html`<option key=${each.id} value=${each.name}>${short(each.name)}</option>`)}<//>
    <${Field} is="select" label=${t("token")} value=${token?.id} onValue=${setId}>${tokens.map((/** @type {any} */ each) => html`<option key=${each.id} value=${each.id}>${each.id}</option>`)}<//>
  `;
  return html`
    <section class="card">
      <h2>${t(found ? "payee.change" : "payee.set")}</h2>
      <${Loaded} of=${currencies}>${() => !found ? html`<${Form} send=${send} label=${t("save")}>${fields}<//>` : html`
        ${fields}
        ${token === present ? html`<p class="hint">${t("payee.same")}</p>` : html`<${Change} found=${found} before=${present} after=${token} act=${act} again=${again} />`}
      `}<//>
    </section>
  `;
}

/** @param {any} props Changes a destination from the token `before`, if that one is still offered, to the one `after`. */
function Change({ found, before, after, act, again }) {
  const is = (/** @type {any} */ token, /** @type {string} */ address, /** @type {any} */ chainId) => html`${token?.id ?? t("token")}, ${chainName(chainId)} <${Copy} text=${address} />`;
  const facts = [
    ["payee.wallet", html`<${Copy} text=${found.walletAddress} />`], ["created", time(found.createdAt)],
    ["payee.before", is(before, found.tokenAddress, found.chainId)], ["payee.after", is(after, after.address, after.chainId)],
  ];
  return html`
    <${Confirmed} label=${t("payee.change")} question=${t("payee.change.question", { wallet: short(found.walletAddress), token: after.id })} act=${act} done=${again}>
      <${Facts} of=${facts} />
      <p class="hint">${t("payee.kept")}</p>
    <//>
  `;
}

export const views = { payees: Payees };
