"""The texts of mails in twelve languages: subject, plain text and HTML, both made of the same paragraphs.

HTML has no image, no script and no address but the one link, so nothing tells that a message was read. What comes from
people (names, references) is shown without control characters, isolated from the direction of the text around it, and
so that no mail program makes a link of it.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from html import escape
from pathlib import Path

from chalicelib.base.frozen import frozen
from chalicelib.base.languages import direction_of
from chalicelib.mail.records import MailKind

_LOCALES = Path(__file__).with_name("locales")
_LINK, _LINES = "{link}", "{lines}"
_PARAGRAPHS = {
    MailKind.CONFIRM: ("confirm.what", _LINK, "once", "ignore"),
    MailKind.REGISTERED: ("registered.what", "registered.rest", "ignore"),
    MailKind.RESET: ("reset.what", _LINK, "once", "reset.rest", "ignore"),
    MailKind.INVITATION: ("invitation.what", _LINK, "once", "invitation.rest"),
    MailKind.CHANGES: ("changes.what", _LINES, "changes.more", "changes.rest"),
    MailKind.PAYMENT: ("payment.what", _LINES, "choice"),
    MailKind.ATTENTION: ("attention.what", _LINES, "choice"),
}
"""The paragraphs of each kind: keys of the locales, a link, or a list. One whose value is not given is left out."""
_HOLE = re.compile(r"\{(\w+)\}")
_BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_LINK_LIKE = re.compile(r"(?<=[:.])(?=[^\W\d]|//)")
_ISOLATE, _END_ISOLATE, _NO_LINK = "\u2068", "\u2069", "\u200b"
_LONGEST_VALUE = 200
_STYLE = "font-family:sans-serif;font-size:16px;line-height:1.5;max-width:36em"


@frozen
class Rendered:
    subject: str
    text: str
    html: str


def render_message(kind: MailKind, locale: str, facts: Mapping[str, str]) -> Rendered:
    """The message of a mail. `facts` are the values of its text; `link` is a URL of this service, and `lines` a JSON
    list of lines, each a list of texts and of lists of keys of the locale (`["noun.api_key", "verb.created"]`)."""
    words = words_of(locale)
    subject = words[f"{kind}.subject"]
    parts = [part for part in _PARAGRAPHS[kind] if _holes(part, words) <= facts.keys()]
    lines = [[_part_of_line(each, words) for each in line] for line in json.loads(facts.get("lines", "[]"))]
    return Rendered(
        subject,
        "\n\n".join(_text(part, words, facts, lines) for part in parts) + "\n",
        _page(locale, subject, "".join(_html(part, words, facts, lines) for part in parts)),
    )


@cache
def words_of(locale: str) -> Mapping[str, str]:
    """The messages of a language."""
    words: dict[str, str] = json.loads(_LOCALES.joinpath(f"{locale}.json").read_text(encoding="utf-8"))
    return words


def _holes(part: str, words: Mapping[str, str]) -> set[str]:
    return set(_HOLE.findall(words.get(part, part)))


def _part_of_line(part: str | list[str], words: Mapping[str, str]) -> str:
    """A text, or the words of some keys; of a key that the locales do not have, what follows its first dot."""
    if isinstance(part, str):
        return show_text(part)
    return ": ".join(words.get(key, show_text(key.partition(".")[2])) for key in part)


def _value(name: str, facts: Mapping[str, str], words: Mapping[str, str]) -> str:
    return words.get(f"{name}.{facts[name]}", show_text(facts[name])) if name == "role" else show_text(facts[name])


def _text(part: str, words: Mapping[str, str], facts: Mapping[str, str], lines: list[list[str]]) -> str:
    if part == _LINK:
        return facts["link"]
    if part == _LINES:
        return "\n".join("- " + " · ".join(f"{_ISOLATE}{each}{_END_ISOLATE}" for each in line) for line in lines)
    return "".join(_fill_message(words[part], words, facts, lambda value: f"{_ISOLATE}{value}{_END_ISOLATE}", str))


def _html(part: str, words: Mapping[str, str], facts: Mapping[str, str], lines: list[list[str]]) -> str:
    if part == _LINK:
        link = escape(facts["link"])
        return f'<p dir="ltr"><a href="{link}">{link}</a></p>'
    if part == _LINES:
        shown_lines = (" · ".join(f"<bdi>{escape(each)}</bdi>" for each in line) for line in lines)
        return f"<ul>{''.join(f'<li>{line}</li>' for line in shown_lines)}</ul>"
    filled = _fill_message(words[part], words, facts, lambda value: f"<bdi>{escape(value)}</bdi>", escape)
    return f"<p>{''.join(filled)}</p>"


def _fill_message(
    message: str,
    words: Mapping[str, str],
    facts: Mapping[str, str],
    value: Callable[[str], str],
    rest: Callable[[str], str],
) -> Iterator[str]:
    """The parts of a message with its values in their places."""
    for number, part in enumerate(_HOLE.split(message)):
        yield value(_value(part, facts, words)) if number % 2 else rest(part)


def _page(locale: str, subject: str, body: str) -> str:
    return (
        f'<!doctype html><html lang="{locale}" dir="{direction_of(locale)}"><head><meta charset="utf-8">'
        f'<title>{escape(subject)}</title></head><body style="{_STYLE}">{body}</body></html>\n'
    )


def show_text(text: str) -> str:
    """A text of anybody as a message shows it: one line, at most 200 characters, nothing in it that a mail program
    takes for a link, for another direction or for a command."""
    line = "".join(" " if unicodedata.category(each) in ("Cc", "Zl", "Zp", "Cs") else each for each in text)
    short = _BIDI.sub("", line)
    short = short if len(short) <= _LONGEST_VALUE else f"{short[:_LONGEST_VALUE]}…"
    return _LINK_LIKE.sub(_NO_LINK, short)
