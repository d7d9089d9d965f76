// The branding of a client id, with what a payer sees of it while it is typed.

import { html, useState } from "./vendor.js";
import { t } from "./text.js";
import { Problem, call, may } from "./api.js";
import { Domain } from "./domain.js";
import { Link } from "./route.js";
import { Confirmed, Empty, Field, Form, Loaded, Tick, Title, problemOf, useLoad } from "./components.js";

const [LEAST_OF_TEXT, LEAST_OF_SIGNS, MOST_BYTES] = [4.5, 3, 32 * 1024];
/** @type {Record<string, string>} */
const FIRST = { pageBackgroundColor: "#f2f4f7", cardBackgroundColor: "#ffffff", primaryActionColor: "#1f5af0", primaryTextColor: "#14181f", secondaryTextColor: "#566070" };
const COLOURS = Object.keys(FIRST);

/** @param {any} props */
function Branding({ id }) {
  const path = `/v1/client-ids/${encodeURIComponent(id)}`;
  const absent = (/** @type {any} */ problem) => {
    if (problem.status === 404) return null;
    throw problem;
  };
  const loaded = useLoad(async () => {
    const client = await call("GET", path).catch(absent);
    const [branding, domain] = client ? await Promise.all(["branding", "domain"].map((each) => call("GET", `${path}/${each}`).catch(absent))) : [];
    return { client, branding, domain };
  }, [id]);
  return html`
    <p><${Link} view="clients">${t("back.clients")}<//></p>
    <${Loaded} of=${loaded} title=${t("nav.branding")}>
      ${(/** @type {any} */ { client, branding, domain }) => client === null ? html`<${Title}>${t("nav.branding")}<//><${Empty} title=${t("unknown.title")} text=${t("unknown.text")} />` : html`
        <${Title}>${t("branding.of", { name: client.label })}<//>
        <${Editor} key=${branding?.updatedAt ?? ""} path=${`${path}/branding`} client=${client} of=${branding} again=${loaded.again} />
        <${Domain} key=${`${domain?.domain} ${domain?.checkedAt}`} path=${`${path}/domain`} client=${client} of=${domain} again=${loaded.again} />
      `}
    <//>
  `;
}

/** @param {any} props */
function Editor({ path, client, of: branding, again }) {
  const [typed, setTyped] = useState(/** @type {any} */ ({ logo: null, termsUrl: "", privacyUrl: "", displayRequestBranding: true, ...withoutNulls(branding ?? {}) }));
  const [hasColours, colour] = useState(Boolean(branding?.primaryActionColor));
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const change = (/** @type {string} */ name) => (/** @type {any} */ value) => setTyped({ ...typed, [name]: value });
  const colours = Object.fromEntries(COLOURS.map((name) => [name, typed[name] ?? FIRST[name]]));
  const send = async () => {
    const { logo, termsUrl, privacyUrl, displayRequestBranding } = typed;
    await call("PUT", path, { body: { logo, termsUrl: termsUrl.trim() || null, privacyUrl: privacyUrl.trim() || null, displayRequestBranding, ...(hasColours && colours) } });
    again();
  };
  const choose = async (/** @type {any} */ event) => {
    const file = event.target.files[0];
    if (!file) return;
    setProblem(null);
    if (file.type === "image/png" && file.size <= MOST_BYTES) return change("logo")(await base64(file));
    event.target.value = "";
    setProblem(new Problem(400, { message: t("branding.logo.wrong"), errors: [{ field: "logo", message: t("branding.logo.wrong") }] }));
  };
  return html`
    <div class="beside">
      <section class="card">
        ${may("client_ids:write") ? html`
          <${Form} send=${send} label=${t("save")} onProblem=${setProblem}>
            <${Field} type="file" accept="image/png" label=${t("branding.logo")} hint=${t("branding.logo.hint")} onChange=${choose} problem=${problemOf(problem, "logo")} />
            <${Tick} label=${t("branding.colours")} hint=${t("branding.colours.hint")} checked=${hasColours} onValue=${colour} />
            ${hasColours && html`<div class="filters">${COLOURS.map((name) => html`<${Field} key=${name} type="color" label=${t(`branding.${name}`)} value=${colours[name]} onValue=${change(name)} problem=${problemOf(problem, name)} />`)}</div>`}
            ${["termsUrl", "privacyUrl"].map((name) => html`<${Field} key=${name} type="url" label=${t(`branding.${name}`)} value=${typed[name]} onValue=${change(name)} problem=${problemOf(problem, name)} />`)}
            <${Tick} label=${t("branding.service")} checked=${typed.displayRequestBranding} onValue=${change("displayRequestBranding")} />
          <//>
        ` : html`<p class="quietly">${t("branding.read")}</p>`}
        ${branding && may("client_ids:write") && html`<div class="actions">
          ${typed.logo && html`<button type="button" class="quiet" onClick=${() => change("logo")(null)}>${t("branding.logo.none")}</button>`}
          <${Confirmed} label=${t("branding.remove")} question=${t("branding.remove.question", { name: client.label })} act=${() => call("DELETE", path)} done=${again} />
        </div>`}
      </section>
      <${Preview} logo=${typed.logo} colours=${hasColours ? colours : null} of=${typed} />
    </div>
  `;
}

/** @param {any} props The payment page as it would look; texts that could not be read are said. */
function Preview({ logo, colours, of: branding }) {
  const shown = colours ?? FIRST;
  const action = shown.primaryActionColor;
  const poor = colours ? unreadable(colours) : [];
  return html`
    <section class="card preview" aria-labelledby="preview">
      <h2 id="preview">${t("preview.title")}</h2>
      <div class="branded" style=${{ background: shown.pageBackgroundColor, color: shown.primaryTextColor }}>
        ${logo && html`<img src=${`data:image/png;base64,${logo}`} alt=${t("branding.logo")} />`}
        <div class="branded-card" style=${{ background: shown.cardBackgroundColor }}>
          <p style=${{ color: shown.secondaryTextColor }}>${t("branding.sample.reference")}</p>
          <p class="big">${t("branding.sample.amount")}</p>
          <p class="branded-action" style=${{ background: action, color: luminance(action) > 0.179 ? "#000000" : "#ffffff" }}>${t("branding.sample.action")}</p>
        </div>
        <p style=${{ color: shown.secondaryTextColor }}>${[branding.termsUrl && t("branding.terms"), branding.privacyUrl && t("branding.privacy")].filter(Boolean).join(" · ")}</p>
      </div>
      <div role="status">${poor.map((each) => html`<p class="problem" key=${each}>${each}</p>`)}</div>
    </section>
  `;
}

/** @param {Record<string, string>} colours What could not be read, in words: as the service refuses it. */
function unreadable(colours) {
  const grounds = ["pageBackgroundColor", "cardBackgroundColor"];
  const pairs = [["primaryTextColor", LEAST_OF_TEXT], ["secondaryTextColor", LEAST_OF_TEXT], ["primaryActionColor", LEAST_OF_SIGNS]];
  return pairs.flatMap(([name, least]) => grounds.flatMap((ground) => {
    const ratio = contrast(colours[name], colours[ground]);
    const values = { one: t(`branding.${name}`), other: t(`branding.${ground}`), ratio: (Math.floor(ratio * 100) / 100).toFixed(2), least };
    return ratio < Number(least) ? [t("branding.poor", values)] : [];
  }));
}

/** @param {string} colour Its relative luminance (WCAG 2.2). */
function luminance(colour) {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** @param {string} one @param {string} other */
function contrast(one, other) {
  const [lighter, darker] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (lighter + 0.05) / (darker + 0.05);
}

/** @param {any} values */
const withoutNulls = (values) => Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));

/** @param {Blob} file */
async function base64(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  return btoa(Array.from(bytes, (each) => String.fromCharCode(each)).join(""));
}

export const views = { branding: Branding };
