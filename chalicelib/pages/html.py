"""The HTML of the hosted payment page: the part that depends on the link, escaped, and the response headers."""

import re
from collections.abc import Mapping
from enum import StrEnum
from html import escape

from chalicelib.base.languages import direction_of
from chalicelib.base.money import format_amount
from chalicelib.base.timestamps import iso
from chalicelib.chains.catalogue.conversions import on_chain_decimals
from chalicelib.chains.catalogue.networks import find_network
from chalicelib.chains.catalogue.tokens import Token
from chalicelib.pages.assets import messages_of, script_hashes, style_hash, template, text_without_scripts
from chalicelib.pages.flows import PageDue, PageFacts
from chalicelib.pages.headers import headers_of
from chalicelib.platform.settings import Settings, origin_of

_TRON_NODE = "https://api.trongrid.io"
"""Called by the tronWeb that Tron wallets inject into the page, so the page's policy has to allow it; never by us."""
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
NOWHERE: Mapping[str, str] = {}
"""No network has gasless payments."""
_MOST_LISTED = 20
"""Payees listed one by one; the rest is a number."""
_DECIMAL_COMMA = frozenset({"de", "es", "fr", "it", "pt", "ru"})
"""Languages with a decimal comma; in them 12.625 would read as more than twelve thousand."""
_ENDED = {
    "completed": "paid",
    "in_progress": "safe",
    "sent": "sent",
    "being_signed": "claimed",
    "awaiting_chain": "awaiting",
    "expired": "expired",
    "invalidated": "invalidated",
    "cancelled": "cancelled",
}
"""Prefix of the message keys by state; `closed` for other states."""


class Absence(StrEnum):
    """Why the facts of a link are missing; the value is the prefix of the message keys."""

    UNKNOWN = "missing"
    LIMITED = "away"
    """This IP address is over its rate limit: the link was not looked up."""


def page(
    settings: Settings,
    facts: PageFacts | Absence,
    language: str,
    walletconnect: bool = False,
    extra: str = "",
    gasless: Mapping[str, str] = NOWHERE,
) -> str:
    """Returns the page for a link, with more HTML. Without facts, its `<noscript>` part says why they are missing.
    `gasless` are the accounts of gasless payments by network: the page has nothing signed to others."""
    before, after = template(walletconnect)
    metas = f'{_meta("api-url", settings.api_url)}{_meta("client-id", settings.page_client_id)}{_escrows(settings)}'
    metas += _gasless(gasless) + _walletconnect(settings, walletconnect)
    return f"{before}{metas}{extra}<noscript>{_noscript(facts, language)}</noscript>{after}"


def page_headers(settings: Settings, facts: PageFacts | Absence, walletconnect: bool = False) -> dict[str, str]:
    """Returns the response headers of the page with its Content-Security-Policy. With WalletConnect, scripts may also
    call its relay, and the public nodes of the network: the wallet is elsewhere, and answers no questions on the chain.

    The hashes in script-src are those of the import map and of `integrity` in the page. `'self'` is needed besides: not
    every engine matches a module that another one imports with a hash. `'self'` is the page's own host, which serves no
    scripts but `pages/*.js`.
    """
    hashes = " ".join(f"'{each}'" for each in script_hashes(walletconnect))
    hosts = ["'self'", origin_of(settings.api_url), _TRON_NODE]
    if walletconnect:
        chain = None if isinstance(facts, Absence) else find_network(facts.network)
        hosts += [settings.walletconnect_relay_url, *map(origin_of, chain.public_rpc_urls if chain else ())]
    ancestors = " ".join(("'self'", *settings.page_frame_ancestors))
    return headers_of(
        settings.pay_url,
        hashes,
        styles=f"'{style_hash()}'",
        hosts=" ".join(hosts),
        ancestors=ancestors,
    )


def _noscript(facts: PageFacts | Absence, language: str) -> str:
    words = messages_of(language)
    direction = direction_of(language)
    text = _heading(facts, words) if isinstance(facts, Absence) else _description(facts, words, language)
    return f'<div class="unscripted" lang="{language}" dir="{direction}">{text}</div>'


def _heading(name: str, words: Mapping[str, str]) -> str:
    return f'<h1>{escape(words[f"{name}.title"])}</h1><p>{escape(words[f"{name}.text"])}</p>'


def _description(facts: PageFacts, words: Mapping[str, str], language: str) -> str:
    if facts.state != "pending":
        parts = [_heading(_ENDED.get(facts.state, "closed"), words)]
    else:
        total = ", ".join(_sums(facts, language, of_fee=False))
        parts = [f'<p>{escape(words["pay.total"])}</p><h1>{escape(total)}</h1>']
    rows = (f"<dt>{escape(words[name])}</dt><dd>{text}</dd>" for name, text in _rows(facts, language))
    parts += ["<dl>", *rows, "</dl>"]
    if facts.state == "pending":
        parts += [f'<p>{escape(text_without_scripts(language))}</p>', *_codes(facts, words)]
    return "".join(parts)


def _rows(facts: PageFacts, language: str) -> list[tuple[str, str]]:
    """Returns (message key of the name, value as HTML) of each fact."""
    fees = _sums(facts, language, of_fee=True)
    chain = find_network(facts.network)
    tokens = dict.fromkeys(_symbol(due.token) for due in facts.dues if due.token != due.invoice)
    rows = [
        ("payee", _payees(facts, language)),
        ("fee", escape(", ".join(fees))),
        ("paid.in", escape(", ".join(tokens))),
        ("network", escape(chain.title if chain else "")),
        ("reference", f"<bdi>{escape(_visible(facts.reference))}</bdi>" if facts.reference else ""),
        ("expires", f'<time datetime="{iso(facts.expires_at)}" dir="ltr">{facts.expires_at:%Y-%m-%d %H:%M} UTC</time>'),
    ]
    return [(name, text) for name, text in rows if text]


def _visible(text: str) -> str:
    """Returns the text with U+FFFD in place of letters that are invisible or change the direction of the text."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)


def _payees(facts: PageFacts, language: str) -> str:
    listed = facts.dues[:_MOST_LISTED]
    if len({due.payee for due in facts.dues}) == 1:
        return _payee(facts.dues[0])
    amounts = [escape(_text(due.amount, due.invoice, language)) for due in listed]
    items = [f"<li>{_payee(due)} {text}</li>" for due, text in zip(listed, amounts, strict=True)]
    left = len(facts.dues) - len(listed)
    return "".join(("<ul>", *items, f"<li>+ {left}</li>" if left else "", "</ul>")) if items else ""


def _payee(due: PageDue) -> str:
    name = f"<bdi>{escape(_visible(due.name))}</bdi> " if due.name else ""
    return f"{name}<bdi>{escape(due.payee)}</bdi>"


def _sums(facts: PageFacts, language: str, of_fee: bool) -> list[str]:
    """Returns a text per currency: the sum of the fees if `of_fee`, else of amounts and fees."""
    sums: dict[Token, int] = {}
    for due in facts.dues:
        sums[due.invoice] = sums.get(due.invoice, 0) + due.fee + (0 if of_fee else due.amount)
    return [_text(units, token, language) for token, units in sums.items() if units]


def _text(units: int, token: Token, language: str) -> str:
    number = format_amount(units, on_chain_decimals(token))
    if token.is_fiat and token.decimals:
        whole, _, part = number.partition(".")
        number = f"{whole}.{part.ljust(token.decimals, '0')}"
    text = f"{number.replace('.', ',') if language in _DECIMAL_COMMA else number} {_symbol(token)}"
    return f"\u2066{text}\u2069" if language == "ar" else text  # isolates: amounts are left-to-right


def _symbol(token: Token) -> str:
    chain = find_network(token.network)
    return chain.coin.symbol if chain and token.is_native else token.symbol


def _codes(facts: PageFacts, words: Mapping[str, str]) -> list[str]:
    """Returns the QR codes of the page's URL, for the browser of a wallet, and of each step in order."""
    codes = [("page", words["manual.page"])]
    codes += [(str(position), words[f"manual.{step}"]) for position, step in enumerate(facts.steps)]
    return [
        f'<figure><figcaption>{escape(caption)}</figcaption><img src="pages/qr.svg?token={escape(facts.token)}'
        f'&amp;step={step}" alt="{escape(words["manual.qr"].replace("{what}", caption))}" width="168" height="168">'
        "</figure>"
        for step, caption in codes
    ]


def _escrows(settings: Settings) -> str:
    """Returns the escrows of ESCROW_CONTRACTS, which the page accepts beside its own: network, escrow, collector."""
    found = (f"{name} {each.escrow} {each.pre_approval}" for name, each in settings.escrow_contracts.items())
    return _meta("escrows", ",".join(found)) if settings.escrow_contracts else ""


def _gasless(accounts: Mapping[str, str]) -> str:
    """Returns the accounts of gasless payments: network and address. What is no address is left out."""
    found = (f"{name} {account}" for name, account in accounts.items() if _ADDRESS.fullmatch(account))
    content = ",".join(found)
    return _meta("gasless", content) if content else ""


def _walletconnect(settings: Settings, is_chosen: bool) -> str:
    """Returns the operator's project with WalletConnect, and the relay's URL once the payer has chosen it."""
    project, relay = settings.walletconnect_project_id, settings.walletconnect_relay_url
    named = _meta("walletconnect", project) if project else ""
    return named + (_meta("walletconnect-relay", relay) if is_chosen else "")


def _meta(name: str, content: str) -> str:
    return f'<meta name="{name}" content="{escape(content)}">'
