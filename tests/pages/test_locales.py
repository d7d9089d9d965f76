"""The page's messages in its twelve languages: each whole, in its own plural forms, and none that the page lacks."""

import json
import re
from pathlib import Path

import pytest

from chalicelib.pages.assets import locales, messages_of, text_without_scripts
from chalicelib.payments.links.multicalls.children import Reason
from tests.oracles.node import run

PAGES = Path(__file__).parents[2] / "chalicelib/pages/payment"
LANGUAGES = ["ar", "de", "en", "es", "fr", "hi", "it", "ja", "ko", "pt", "ru", "zh"]
ALPHABETS = {  # a letter of each language that is not written in Latin ones
    "ar": "[\u0621-\u064a]",
    "hi": "[\u0904-\u0939]",
    "ja": "[\u3041-\u30fa\u4e00-\u9fff]",
    "ko": "[\uac00-\ud7a3]",
    "ru": "[\u0410-\u044f]",
    "zh": "[\u4e00-\u9fff]",
}
SAME_EVERYWHERE = {"service", "network.chain-id"}
"""A name, and what wallets call it in every language."""
SAME_AS_ENGLISH = {"fr": {"transaction"}, "it": {"privacy"}}
PLURALS = """
const { readFileSync } = require("fs");
const numbers = [...Array(201).keys(), 1_000, 1_000_000, 2_000_000];
const answers = JSON.parse(readFileSync(0, "utf8")).map((language) => {
  const rules = new Intl.PluralRules(language);
  const of = (category) => numbers.filter((number) => rules.select(number) === category);
  return [language, Object.fromEntries(rules.resolvedOptions().pluralCategories.map((each) => [each, of(each)]))];
});
process.stdout.write(JSON.stringify(Object.fromEntries(answers)));
"""

ENGLISH = messages_of("en")
COMMERCE = messages_of("en", "commerce")
"""Of links of commerce payments: their own messages, and some in place of the others."""
RECLAIM = messages_of("en", "reclaim")
"""Of those with something to be taken back, in place of both."""
WALLETCONNECT = messages_of("en", "walletconnect")
"""Of the page that was opened with it."""
GROUPS = {"commerce": COMMERCE, "reclaim": RECLAIM}
EVERY = set(ENGLISH) | set(COMMERCE) | set(RECLAIM) | set(WALLETCONNECT)
COUNTED = {key.removesuffix(".one") for key in ENGLISH if key.endswith(".one")}
SCRIPTS = {path.name: path.read_text(encoding="utf-8") for path in sorted(PAGES.glob("*.js"))}
SCRIPTS["walletconnect.js"] = (PAGES / "walletconnect/walletconnect.js").read_text(encoding="utf-8")
HTML = (PAGES / "index.html").read_text(encoding="utf-8")

Plurals = dict[str, dict[str, list[int]]]


@pytest.fixture(scope="module")
def plurals(tmp_path_factory: pytest.TempPathFactory) -> Plurals:
    """The plural categories of every language, each with the numbers, of some, that it stands for."""
    script = tmp_path_factory.mktemp("plurals") / "plurals.js"
    script.write_text(PLURALS, encoding="utf-8")
    found: Plurals = run(str(script), LANGUAGES)
    return found


def family(key: str) -> str:
    """The key without the plural category, where it has one."""
    start = key.rpartition(".")[0]
    return start if start in COUNTED else key


def holes(message: str) -> set[str]:
    return set(re.findall(r"\{(\w+)\}", message))


def bare(message: str) -> str:
    """The message without its placeholders."""
    return re.sub(r"\{\w+\}", "", message)


def quoted(pattern: str, *names: str) -> list[str]:
    """What the pattern captures in the scripts, all of them unless some are named."""
    return [found for name in names or SCRIPTS for found in re.findall(pattern, SCRIPTS[name])]


def words(pattern: str, name: str) -> list[str]:
    """The quoted words in the one place of a script that the pattern captures."""
    [place] = quoted(pattern, name)
    return re.findall(r'"([\w-]+)"', place)


# --- every language ---


def test_the_page_is_written_in_twelve_languages() -> None:
    assert sorted(locales()) == LANGUAGES


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_has_the_messages_of_english_in_its_own_plural_forms(language: str, plurals: Plurals) -> None:
    single = {key for key in ENGLISH if family(key) == key}
    counted = {f"{key}.{category}" for key in COUNTED for category in plurals[language]}
    assert set(messages_of(language)) == single | counted


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_messages_stand_in_the_order_of_english_and_none_is_there_twice(language: str) -> None:
    text = (PAGES / f"locales/{language}.json").read_text(encoding="utf-8")
    keys = [key for key, _ in json.loads(text, object_pairs_hook=list)]
    assert len(keys) == len(set(keys))
    assert list(dict.fromkeys(map(family, keys))) == list(dict.fromkeys(map(family, ENGLISH)))
    assert text == json.dumps(messages_of(language), ensure_ascii=False, indent=1) + "\n"


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_message_has_the_placeholders_of_the_english_one(language: str, plurals: Plurals) -> None:
    """The count may be told in words where a plural form stands for a single number."""
    for key, message in messages_of(language).items():
        start = family(key)
        wanted = holes(ENGLISH[key if start == key else f"{start}.other"])
        is_single = start != key and len(set(plurals[language][key.rpartition(".")[2]]) - {0}) <= 1
        in_words = {"count"} if is_single else set()
        assert wanted - in_words <= holes(message) <= wanted, key
        assert not set("{}") & set(bare(message)), key


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_messages_of_held_amounts_are_there_in_the_same_order_with_the_same_placeholders(
    language: str, group: str
) -> None:
    text = (PAGES / f"locales/{language}.{group}.json").read_text(encoding="utf-8")
    messages, english = messages_of(language, group), GROUPS[group]
    assert text == json.dumps(messages, ensure_ascii=False, indent=1) + "\n"
    assert [(key, holes(each)) for key, each in messages.items()] == [(key, holes(english[key])) for key in english]
    replaced = {key: holes(ENGLISH[key]) for key in english if key in ENGLISH}
    assert len(replaced) > 5 and replaced == {key: holes(english[key]) for key in replaced}


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_messages_for_walletconnect_are_there_in_the_same_order_with_the_same_placeholders(language: str) -> None:
    text = (PAGES / f"walletconnect/locales/{language}.walletconnect.json").read_text(encoding="utf-8")
    messages = messages_of(language, "walletconnect")
    assert text == json.dumps(messages, ensure_ascii=False, indent=1) + "\n"
    assert [(key, holes(each)) for key, each in messages.items()] == [(key, holes(each)) for key, each in WALLETCONNECT.items()]
    assert not {*messages} & {*ENGLISH, *COMMERCE, *RECLAIM} and {*messages} <= {*quoted(r'"(walletconnect\.[a-z.-]+)"', "walletconnect.js")}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_message_is_plain_text(language: str) -> None:
    for group in ("", *GROUPS, "walletconnect"):
        for key, message in messages_of(language, group).items():
            assert message and message == message.strip() and "  " not in message, key
            assert not re.search(r"[<>]|&\w+;|&#|[\u0000-\u001f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]", message), key


@pytest.mark.parametrize("language", [each for each in LANGUAGES if each != "en"])
def test_nothing_is_left_in_english(language: str) -> None:
    for group in ("", *GROUPS, "walletconnect"):
        messages = messages_of(language, group)
        same = {key for key, message in messages.items() if message == messages_of("en", group).get(key)}
        assert same <= SAME_EVERYWHERE | SAME_AS_ENGLISH.get(language, set())
        letter = re.compile(ALPHABETS.get(language, ""))
        assert {key for key, message in messages.items() if not letter.search(bare(message))} <= SAME_EVERYWHERE


# --- what the page names ---
OF_THE_SET = {Reason.UNSUPPORTED_COMBINATION, Reason.EXECUTION_KIND_MISMATCH, Reason.TOTAL_TOO_LARGE}
"""Refuse the creation of a multicall: no page shows them."""

UNSAFE = [
    *words("// reason: (.*)", "calldata.js"),
    *words("// reason: (.*)", "bridge.js"),
    *words("// reason: (.*)", "authorize.js"),
    *words(r"const reason = (.*);", "quote.js"),
]
STATES = quoted(r"\.progress\(([^,]*),", "signer.js", "denials.js", "follow.js")
PROBLEMS = quoted(r'\.problem\("([\w-]+)"', "payment.js", "views.js")
TROUBLES = [f"wallet-{each}" for each in [*words(r"WALLET_TROUBLES = \[(.*)\]", "payment.js"), "failed"]]
ROUTES = [
    f"route-{each}"
    for each in ("source", "bridge", "refunding", "unknown", *words(r"const ENDS = \[(.*)\]", "bridge_transfer.js"))
]
WHERE = words("// state: (.*)", "commerce.js")
TEMPLATES = {
    "${key}.title": [*words(r"const known = \[(.*)\]", "outcomes.js"), "closed", "paid"],
    "${kind}.title": [*words(r"const kind = \[(.*)\]", "page.js"), "odd"],
    "${name}.title": [*PROBLEMS, *TROUBLES, *ROUTES, "apart", "blocked", "part"],
    "${state}.title": [*re.findall(r'"([\w-]+)"', " ".join(STATES)), *WHERE],
    "unsafe.${verdict.reason}": UNSAFE,
    "unsafe.${this.payment.verdict.reason}": UNSAFE,
    "unsafe.${refusal}": words(r"const refusal = (.*);", "gasless_offer.js"),
    "${why}.title": words(r"why = trouble.* \? (.*);", "gasless.js"),
    "reason.${blockReason}": [each.value for each in Reason if each not in OF_THE_SET],
    "manual.${kind}": ["reset", "approve", "pay"],  # nobody funds an account here: no eoaWallet is expected
    "step.${kind}": words(r"if \(\[(.*)\]\.includes\(kind\)\)", "views.js"),
    "state.${state(index)}": ["done", "now", "todo"],
    "state.${state}": ["done", "now", "todo"],
    "merchant.${kind}": ["domain", "label"],
    "network.${code}": words(r"NETWORK_TROUBLES = \[(.*)\]", "payment.js"),
    "network.${name}": ["name", "chain-id", "rpc", "coin"],
    'connect.${["rejected", "timeout", "busy"].includes(trouble.code) ? trouble.code : "failed"}': [
        *("rejected", "timeout", "busy", "failed"),
    ],
}
"""The keys that are put together of parts, with what the parts can be; `.text` as `.title`."""


@pytest.mark.parametrize("language", LANGUAGES)
def test_only_a_verified_domain_has_a_mark_and_a_label_says_that_it_is_not_verified(language: str) -> None:
    domain, label = messages_of(language)["merchant.domain"], messages_of(language)["merchant.label"]
    assert domain.startswith("\u2713 {domain}") and "\u2713" not in label
    assert len(label) > len("\u201c{label}\u201d") + 5 and not label.startswith("{label}")


@pytest.mark.parametrize("script", ["energy.js", "exchange.js", "gasless_words.js", "sandbox.js"])
def test_a_script_with_words_of_its_own_has_them_in_every_language_with_the_same_values(script: str) -> None:
    table = (PAGES / script).read_text(encoding="utf-8").partition("const WORDS = {")[2].partition("\n};")[0]
    languages = re.findall(r"^  (\w+): \{\n(.*?)^  \},", table, re.MULTILINE | re.DOTALL)
    found = {name: dict(re.findall(r'^    (\w+): "(.*)",$', of, re.MULTILINE)) for name, of in languages}
    assert found.keys() == locales()
    english = found["en"]
    assert len(english) > 4
    for name, of in found.items():
        assert of.keys() == english.keys(), name
        for key, text in of.items():
            assert holes(text) == holes(english[key]), (name, key)
            assert name == "en" or text != english[key], (name, key)
            assert re.search(ALPHABETS.get(name, "[a-z]"), re.sub(r"\{\w+\}", "", text)), (name, key)


def test_what_is_said_without_scripts_is_said_in_every_language() -> None:
    texts = {name: text_without_scripts(name) for name in locales()}
    assert all(text.strip() for text in texts.values()) and len({*texts.values()}) == len(texts)


def test_every_message_that_is_named_as_a_whole_is_there() -> None:
    dotted = {key for key in quoted(r'"([a-z][a-z-]*(?:\.[a-z_-]+)+)"') if not key.endswith(".js")}
    plain = set(quoted(r'\b(?:t|row)\("([^"]+)"'))
    marked = set(re.findall(r'data-t="([^"]+)"', HTML)) | set(
        words(r'for \(const name of \[(.*"privacy")\]\)', "wallets.js")
    )
    assert len(dotted) > 60 and len(plain) > 60 and len(marked) > 5
    assert (dotted | plain | marked) - EVERY - COUNTED == set()


def test_every_message_that_is_put_together_is_there() -> None:
    named = set(quoted(r"`([a-z-]+\.\$\{[^`]*\}|\$\{[^`]*\}\.(?:title|text))`"))
    assert {re.sub(r"\.text$", ".title", each) for each in named} == set(TEMPLATES)
    for template in named:
        parts = TEMPLATES[re.sub(r"\.text$", ".title", template)]
        keys = {re.sub(r"\$\{.*\}", part, template) for part in parts}
        assert keys and keys - EVERY == set(), template


def test_the_words_in_the_page_itself_are_the_english_ones() -> None:
    """They are there before the messages are."""
    marked = re.findall(r'data-t="([^"]+)">([^<]*)<', HTML)
    assert marked and {key: ENGLISH[key] for key, _ in marked} == dict(marked)


def test_the_language_select_names_each_language_in_itself() -> None:
    options = re.findall(r'<option value="(\w+)" lang="(\w+)">([^<]+)</option>', HTML)
    assert [value for value, _, _ in options] == LANGUAGES == [lang for _, lang, _ in options]
    assert HTML.count("<option") == len(LANGUAGES) == len({name for _, _, name in options})
