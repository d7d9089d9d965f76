// Messages, numbers, dates and addresses as text. User-given text only ever becomes a text node.

import { signal } from "./vendor.js";

// Arabic and Persian, scripts of India, and emoji are written with joiners; among Latin letters these only hide.
const JOINED = String.raw`[\p{sc=Arab}\p{sc=Beng}\p{sc=Deva}\p{sc=Gujr}\p{sc=Guru}\p{sc=Knda}\p{sc=Mlym}\p{sc=Sinh}\p{sc=Taml}\p{sc=Telu}\p{ExtPict}\p{EMod}\ufe0f]`;
const INVISIBLE = new RegExp(String.raw`(?!(?<=…)\u2060|(?<=${JOINED})[\u200c\u200d](?=${JOINED}))[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]`, "gu");
/** @type {Record<string, string>} The languages, each by its own name. */
export const LANGUAGES = { en: "English", de: "Deutsch" };
const speech = signal({ language: "en", messages: /** @type {Record<string, string>} */ ({}) });
let wanted = "en"; // the language that was asked for last: its messages may still be on their way

/** The language that is shown. What reads it, or a message, is drawn again when another one is chosen. */
export const language = () => speech.value.language;

/** @returns {string | null} The language that was chosen in this browser, on the payment page as well where it has the same host. */
function chosenLanguage() {
  try {
    return localStorage.getItem("language");
  } catch {
    return null; // a browser that stores nothing has chosen none
  }
}

/** @param {string} chosen Shows everything in a language from now on; what was typed stays. Throws if its messages cannot be fetched. */
export async function chooseLanguage(chosen) {
  await show(chosen);
  try {
    localStorage.setItem("language", chosen);
  } catch {
    // a browser that stores nothing goes by its own languages
  }
}

/** Shows the language that was chosen, else the first one of the browser that there is. */
export async function loadMessages() {
  const known = [chosenLanguage(), ...navigator.languages].map((each) => (each ?? "").split("-")[0].toLowerCase());
  await show(known.find((each) => Object.hasOwn(LANGUAGES, each)) ?? "en");
}

/** @param {string} name Fetches the messages of a language, by their name with a hash, and shows it, unless another one was asked for meanwhile. */
async function show(name) {
  wanted = name;
  const response = await fetch(import.meta.resolve(`./${name}.json`)).catch(() => null);
  if (!response?.ok) throw new Error(t("problem.away"));
  const messages = await response.json();
  if (wanted !== name) return;
  document.documentElement.lang = name;
  speech.value = { language: name, messages };
}

/** @param {string} key @param {Record<string, unknown>} [values] The message of a key, with {names} replaced by values, which may be texts of somebody else. */
export const t = (key, values = {}) =>
  (speech.value.messages[key] ?? key).replace(/\{(\w+)\}/g, (_, name) => clean(values[name]));

/** @param {string} group @param {string | null | undefined} name The message of a value of the API, or the value itself. */
export const word = (group, name) => speech.value.messages[`${group}.${name}`] ?? clean(name).replaceAll("_", " ");

/** @param {unknown} value Text of somebody else with invisible and direction-changing letters made visible. */
export const clean = (value) => String(value ?? "").replace(INVISIBLE, "\ufffd");

/** @param {string | null | undefined} text Whether it is a time, as an API or a field has it. */
export const isTime = (text) => !Number.isNaN(Date.parse(text ?? ""));

/** @param {string | null | undefined} text An ISO time as a date and time of this browser's zone. */
export const time = (text) =>
  text && isTime(text) ? new Intl.DateTimeFormat(language(), { dateStyle: "medium", timeStyle: "short" }).format(new Date(text)).replace(/ (?=[AP]M$)/, "\u00a0") : t("none");

/** @param {string} text A day as YYYY-MM-DD, as people write it. */
export const day = (text) => new Intl.DateTimeFormat(language(), { dateStyle: "medium", timeZone: "UTC" }).format(new Date(text));

/** @type {Record<string, [string, string]>} What separates thousands, and decimals: forms read both, and no point or comma in two ways. */
const SEPARATORS = { en: [",", "."], de: ["\u202f", ","] };

/** @param {string | null | undefined} text A decimal with separators between thousands; digits are never rounded. */
export function amount(text) {
  const parts = /^(-?)(\d+)(\.\d+)?$/.exec(text ?? "");
  if (!parts) return clean(text);
  const [thousands, point] = SEPARATORS[language()];
  const digits = (parts[3] ?? "").replace(/0+$/, "");
  return `${parts[1]}${parts[2].replace(/\B(?=(\d{3})+$)/g, thousands)}${digits === "." ? "" : digits.replace(".", point)}`;
}

/** @param {string | null | undefined} text An address or hash, shortened in its middle. After "…" a line may end: U+2060, which is not seen, prevents it. */
export const short = (text) => (text && text.length > 16 ? `${text.slice(0, 8)}…\u2060${text.slice(-6)}` : clean(text));

/** @param {string} text A plain decimal that a person has typed, with a comma or a point, or null if it is ambiguous. */
export function decimal(text) {
  const typed = text.trim().replace(/[\s\u00a0\u202f']/g, "");
  if (/^\d+([.,]\d{1,30})?$/.test(typed) && !/^\d{1,3}[.,]\d{3}$/.test(typed)) return typed.replace(",", ".");
  return /^\d+\.\d{1,30}$/.test(typed) ? typed : null;
}

/** @param {string[]} texts Their exact sum, as decimal text. */
export function sum(texts) {
  const places = Math.max(...texts.map((text) => text.split(".")[1]?.length ?? 0), 0);
  const units = (/** @type {string} */ text) => {
    const [whole, part = ""] = text.replace("-", "").split(".");
    return BigInt(whole + part.padEnd(places, "0")) * (text.startsWith("-") ? -1n : 1n);
  };
  const total = texts.reduce((before, text) => before + units(text), 0n);
  const digits = String(total < 0n ? -total : total).padStart(places + 1, "0");
  return `${total < 0n ? "-" : ""}${digits.slice(0, digits.length - places)}${places ? `.${digits.slice(-places)}` : ""}`;
}

/** @param {unknown} text The URL if its scheme is http or https, else null. */
export function webAddress(text) {
  const url = typeof text === "string" && URL.canParse(text) ? new URL(text) : null;
  return url && ["https:", "http:"].includes(url.protocol) ? url.href : null;
}
