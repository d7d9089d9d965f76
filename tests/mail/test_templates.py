"""The texts of mails: every kind in every language, and what people with bad intentions put into them."""

import json
import re
from html.parser import HTMLParser
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.languages import LANGUAGES, direction_of, language_of
from chalicelib.mail import templates
from chalicelib.mail.records import MailKind
from chalicelib.mail.templates import render_message, show_text, words_of
from chalicelib.pages.assets import locales

KINDS = [each for each in MailKind if each is not MailKind.NOTHING]
LINK = "https://auth.shop.example/confirm#token=abc"
FACTS = {
    "brand": "Pay & <Co>",
    "account": "Ann's shop",
    "role": "finance",
    "until": "2026-03-15 10:30 UTC",
    "link": LINK,
    "count": "7",
    "lines": json.dumps([["2026-03-15 10:00 UTC", ["noun.api_key", "verb.created"], "203.0.113.7"]]),
}
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=https://evil.example/x.png>',
    "{link}{brand}{__class__}",
    "$confirm.what",
    "\u202egnihtemos\u202c",
    "\u2067right to left\u2069\u2069\u2069",
    "line\r\nBcc: everybody@evil.example\r\n\r\nbody",
    "http://evil.example/login",
    "evil.example",
    "www.evil.example",
    "x" * 5_000,
    "\0\x1b[2J",
    "\ud800",
    "שלום עולם",
    "&amp;&#60;b&#62;",
]


class Reader(HTMLParser):
    """What a browser finds in a message: tags, addresses and text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags, self.addresses, self.text = list[str](), list[str](), ""
        self.direction = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attributes:
            if name in ("href", "src", "srcset", "action", "background", "poster", "data"):
                self.addresses.append(value or "")
            assert not name.startswith("on")
            assert "url(" not in (value or "")
            if tag == "html" and name == "dir":
                self.direction = value or ""

    def handle_data(self, data: str) -> None:
        self.text += data


def bare(text: str) -> str:
    """A text without what isolates its values."""
    return re.sub("[\u2068\u2069]", "", text)


def words_in(text: str) -> str:
    return re.sub(r"[\s·-]+", "", bare(text))


@pytest.mark.parametrize("kind", KINDS)
def test_a_message_says_the_same_as_text_and_as_html_with_one_link_of_ours_in_every_language(kind: MailKind) -> None:
    for language in LANGUAGES:
        message = render_message(kind, language, FACTS)
        read = Reader(message.html)
        body = read.text.removeprefix(message.subject)
        assert words_in(body) == words_in(message.text)
        has_link = "{link}" in templates._PARAGRAPHS[kind]
        assert read.addresses == ([LINK] if has_link else [])
        assert (LINK in message.text) is has_link
        assert set(read.tags) <= {"html", "head", "meta", "title", "body", "p", "a", "bdi", "ul", "li"}
        assert read.direction == direction_of(language)
        assert not re.search(r"\{\w+\}", message.text + message.subject)
        assert len(message.subject) < 80 and message.subject.isprintable()


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_names_stay_text_in_every_language(hostile: str) -> None:
    facts = {**FACTS, "account": hostile, "role": hostile, "lines": json.dumps([[hostile, ["noun.api_key"]]] * 2)}
    for kind, language in product(KINDS, LANGUAGES):
        message, plain = render_message(kind, language, facts), render_message(kind, language, FACTS)
        read = Reader(message.html)
        assert read.tags[:5] == Reader(plain.html).tags[:5] and "script" not in read.tags and "img" not in read.tags
        assert set(read.addresses) <= {LINK}
        assert message.subject == plain.subject
        for text in (message.text, message.html):
            text.encode()
            assert not re.search("[\u202a-\u202e\u2066\u2067\u200e\u200f]", text)
            assert text.count("\u2068") == text.count("\u2069")
            assert "http://evil" not in text and "www.evil" not in text and "evil.example" not in text
        assert len(message.text) < 5_000


@given(st.text(max_size=300))
def test_what_is_shown_is_one_short_line(text: str) -> None:
    line = show_text(text)
    assert "\n" not in line and "\r" not in line and "\0" not in line
    assert len(line.replace("\u200b", "")) <= 201
    line.encode()


@pytest.mark.parametrize("text", ["12.50", "203.0.113.7", "2026-03-15 10:00 UTC", "INV-1", "0x5aFE", "Ann's shop"])
def test_amounts_addresses_and_names_are_shown_as_they_are(text: str) -> None:
    assert show_text(text) == text


def test_a_message_in_english() -> None:
    message = render_message(MailKind.RESET, "en", {**FACTS, "brand": "Pay"})
    assert message.subject == "Set a new password"
    assert bare(message.text) == (
        "A new password was requested at Pay for this e-mail address. Open this link to set it:\n\n"
        f"{LINK}\n\n"
        "The link works once, until 2026-03-15 10:30 UTC.\n\n"
        "Setting a new password ends all sessions.\n\n"
        "If this was not you, ignore this message: nothing will happen.\n"
    )


def test_changes_are_listed_in_words_and_those_that_have_none_by_their_names() -> None:
    lines = [["10:00", ["noun.api_key", "verb.created"]], ["10:01", ["noun.wallet", "verb.turned_round"]]]
    message = render_message(MailKind.CHANGES, "de", {**FACTS, "lines": json.dumps(lines)})
    assert "- 10:00 · API-Schlüssel: erstellt\n- 10:01 · wallet: turned_round" in bare(message.text)


def test_a_paragraph_whose_value_is_missing_is_left_out() -> None:
    facts = {name: value for name, value in FACTS.items() if name != "count"}
    assert "audit log" not in render_message(MailKind.CHANGES, "en", facts).text


# --- the locales ---

FOLDER = Path(templates.__file__).parent / "locales"
ENGLISH = words_of("en")
SAME_AS_ENGLISH = {
    "de": {"noun.domain", "noun.passkey", "noun.person", "noun.webhook", "label.transaction"},
    "es": {"noun.webhook"},
    "fr": {"noun.webhook", "noun.invitation", "noun.notifications", "label.transaction"},
    "it": {"noun.webhook", "noun.account"},
    "pt": {"noun.webhook"},
}


def test_mails_are_written_in_the_languages_of_the_payment_page() -> None:
    assert set(LANGUAGES) == locales() == {path.stem for path in FOLDER.glob("*.json")}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_has_the_messages_of_english_in_the_same_order_with_the_same_values(language: str) -> None:
    words = words_of(language)
    assert FOLDER.joinpath(f"{language}.json").read_text("utf-8") == json.dumps(words, ensure_ascii=False, indent=1) + "\n"
    assert list(words) == list(ENGLISH)
    for key, message in words.items():
        assert set(re.findall(r"\{(\w+)\}", message)) == set(re.findall(r"\{(\w+)\}", ENGLISH[key])), key
        assert message == message.strip() and message.isprintable() and not re.search("[<>]", message), key


@pytest.mark.parametrize("language", [each for each in LANGUAGES if each != "en"])
def test_nothing_is_left_in_english(language: str) -> None:
    same = {key for key, message in words_of(language).items() if message == ENGLISH[key]}
    assert same <= SAME_AS_ENGLISH.get(language, set())


@pytest.mark.parametrize(
    ("accepted", "language"),
    [("", "en"), ("de-CH,de;q=0.9,en;q=0.8", "de"), ("xx,fr;q=0.5", "fr"), ("de;q=0,it;q=0.1", "it"), ("*", "en"), ("zh-TW;q=x,ko", "ko")],
)
def test_the_language_is_the_one_that_a_browser_prefers(accepted: str, language: str) -> None:
    assert language_of(accepted) == language
