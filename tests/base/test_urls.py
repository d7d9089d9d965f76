"""URLs: what is accepted leads every parser to the host that is read in it."""

import re
import time
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.urls import HTTPS_URL, SENT_WEB_URL, WEB_URL, ascii_url, is_url
from tests.oracles import node
from tests.support.patience import patience

ACCEPTED = [
    "https://shop.example",
    "HTTP://SHOP.example/",
    "https://shop.example:65535?a=b",
    "https://shop.example:1#c",
    "https://sub-1.shop_a.example/a/b;c?d=%C3%BC&e=[1]#f|g",
    "https://xn--bcher-kva.example/~ann/(1)",
    "https://xn--80ak6aa92e.example/",
    "https://XN--MNCHEN-3YA.example/",
    "https://xn--ls8h.example/",
    "http://localhost:3000/thanks",
    "http://127.0.0.1/",
    "https://[2001:db8::1]:8443/a",
    "https://shop.example/@user:pass?next=https://a.example",
]
REFUSED = [
    "https://shop.example@evil.example/",
    "https://user:pass@shop.example/",
    "https://@shop.example/",
    "https://shop.example\\@evil.example/",
    "https://shop.example/\\..\\a",
    "https:\\\\shop.example/",
    "https://shop.example:99999/",
    "https://shop.example:65536/",
    "https://shop.example:0/",
    "https://shop.example:080/",
    "https://shop.example:/",
    "https://shop.example:port/",
    "https://",
    "https:///thanks",
    "https://?a",
    "https://#a",
    "https://:443/",
    "https://.example/",
    "https://shop..example/",
    "https://shop-.example/",
    "https://shop.example%2eevil.example/",
    "https://shop%E3%80%82example/",
    "https://999.1.1.1/",
    "https://1.2.3.4.5/",
    "https://0x7f.0x/",
    "https://127.1/",
    "https://[::1/",
    "https://[2001:DB8::1]/",
    "https://[1:2]/",
    "https://[2001:db8:0::1]/",
    "https://[::ffff:102:304]/",
    "https://[::1%25eth0]/",
    "HTTP://0",
    "https://shop.0",
    "https://010.0.0.1/",
    "https://[2001:db8::zz]/",
    "https://[1.2.3.4]/",
    *(f"https://{label}.example/" for label in ("xn--a", "xn--0", "xn--a-ecp", "xn--99999999999", "shop.xn--u-ccb", "xn--abc", "xn---")),
    f"https://{'a' * 64}.example/",
    f"https://{'a.' * 127}example/",
    "https://b\u00fccher.example/",
    "https://sh\u043ep.example/",
    *(f"https://shop.example/a{chr(sign)}b" for sign in (
        0x00, 0x09, 0x0A, 0x0D, 0x20, 0x22, 0x27, 0x3C, 0x3E, 0x60, 0x7F, 0x85, 0xA0, 0xAD, 0x061C, 0x1680, 0x180E, 0x200B, 0x200D,
        0x200E, 0x200F, 0x2028, 0x202A, 0x202D, 0x202E, 0x2060, 0x2066, 0x2069, 0x3000, 0x3164, 0xFE0F, 0xFEFF, 0xFF0F, 0xE0041,
    )),
    *(f"https://{chr(sign)}shop.example/" for sign in (0x200B, 0x202E, 0x2066, 0xFEFF)),
    "https://shop.example/\n",
    "javascript://shop.example/%0aalert(1)",
    "//shop.example",
]  # fmt: skip
PIECES = st.sampled_from(
    [
        *"abz09-_.:/?#@\\[]%&=+ \t\n\u202e\u200b\uff0e\u3002|^{}~!*()';,$\"<>`", *"\u00fc\u043e\u00df\u65e5\uff21", "https://", "http://", "shop.example", "evil.example",
        "user:pass@", ":99999", ":443", ":0", "127.0.0.1", "[::1]", "0x7f", "xn--", "%2f", "%00", "//",
    ]
)  # fmt: skip
TEXTS = st.lists(st.builds(lambda start, parts: start + "".join(parts), st.sampled_from(["https://", "http://", "HTTPS://", ""]),
                           st.lists(PIECES, max_size=8)), min_size=30, max_size=60)  # fmt: skip


@pytest.mark.parametrize("text", ACCEPTED, ids=ascii)
def test_a_plain_url_is_accepted(text: str) -> None:
    assert is_url(text, WEB_URL)
    assert is_url(text, HTTPS_URL) is text.startswith("https://")


@pytest.mark.parametrize("text", REFUSED, ids=ascii)
def test_a_url_that_hides_its_host_or_leads_nowhere_is_refused(text: str) -> None:
    assert not is_url(text, WEB_URL) and not is_url(text, HTTPS_URL)


def test_a_browser_leads_to_the_host_that_is_read_in_an_accepted_url() -> None:
    check(ACCEPTED)


@given(TEXTS)
def test_whatever_is_accepted_is_the_same_for_every_parser(texts: list[str]) -> None:
    accepted = [text for text in texts if is_url(text, WEB_URL)]
    for text in accepted:
        parts = urlsplit(text)
        assert parts.scheme in ("http", "https") and parts.hostname
        assert (parts.username, parts.password) == (None, None)
        assert parts.port is None or 1 <= parts.port <= 65535
        assert re.fullmatch(r"[!-~]+", text) and "\\" not in text
        assert parts.netloc.lower().startswith(parts.hostname if ":" not in parts.hostname else "[")
    if accepted:
        check(accepted)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("https://b\u00fccher.example/stra\u00dfe?\u00fc=1#\u00e9", "https://xn--bcher-kva.example/stra%C3%9Fe?%C3%BC=1#%C3%A9"),
        ("http://sh\u043ep.example", "http://xn--shp-ted.example"),
        ("https://m\u00fcnchen\u3002de:8443/", "https://xn--mnchen-3ya.de:8443/"),
        ("https://shop.example/\u65e5\u672c?a=%20", "https://shop.example/%E6%97%A5%E6%9C%AC?a=%20"),
        ("https://shop.example/\u0645\u06cc\u200c\u062e\u0648", "https://shop.example/%D9%85%DB%8C%E2%80%8C%D8%AE%D9%88"),
        ("https://shop.example/?a=\U0001f468\u200d\U0001f469", "https://shop.example/?a=%F0%9F%91%A8%E2%80%8D%F0%9F%91%A9"),
        ("https://[2001:DB8:0::1]/a", "https://[2001:db8::1]/a"),
        ("https://\uff11\uff12\uff17.0.0.1/", "https://127.0.0.1/"),
        *((text, text) for text in ACCEPTED),
    ],
    ids=ascii,
)
def test_what_is_not_ascii_is_kept_in_the_form_that_goes_over_the_network(text: str, kept: str) -> None:
    assert ascii_url(text) == kept and is_url(kept, WEB_URL) and re.fullmatch(SENT_WEB_URL, text)
    check([kept])


@pytest.mark.parametrize("sign", [*"\u200b\u202e\u2066\ufeff\u00ad\u00a0\u2028\x85"])
def test_what_is_not_seen_is_refused_and_so_are_joiners_in_the_host(sign: str) -> None:
    for text in (f"https://shop.example/\u00e9{sign}", "https://\u0645\u200c\u062e.example/", f"https://\u00e9{sign}.example/"):
        assert not is_url(ascii_url(text), WEB_URL)


NAMES = st.text(st.sampled_from([*"aZ09._-@[]%\\ ", *"\u00e9\u043e\u65e5\u3002\uff11"]), max_size=12)


@given(NAMES.filter(lambda name: not name.isascii()), st.sampled_from(["", ":443", "/", "/a?b#c"]))
def test_a_name_that_is_not_ascii_is_accepted_with_letters_digits_hyphens_dots_and_underscores(name: str, end: str) -> None:
    is_name = all(not each.isascii() or each.isalnum() or each in "._-" for each in name)
    assert (re.fullmatch(SENT_WEB_URL, f"https://{name}{end}") is not None) is is_name


@pytest.mark.parametrize("piece", ["\u00e9", "a\u00e9", "a", "a.", "a-", "-", "1.", "[", ":"])
@pytest.mark.parametrize("end", ["", " ", ":0", "@"])
def test_clients_that_validate_by_the_patterns_are_not_kept_busy_by_a_long_text(piece: str, end: str) -> None:
    """Quadratic time would be an hour for these, and a client that validates by the document has no limit of time."""
    began = time.monotonic()
    for pattern in (SENT_WEB_URL, WEB_URL, HTTPS_URL):
        re.search(pattern, "https://" + piece * 200_000 + end)
    assert time.monotonic() - began < patience()


@given(TEXTS)
def test_a_browser_leads_to_the_same_host_from_what_was_sent_and_from_what_is_kept(texts: list[str]) -> None:
    sent = [text for text in texts if is_url(ascii_url(text), WEB_URL)]
    if sent:
        before, after = node.ask_urls(sent), node.ask_urls([ascii_url(text) for text in sent])
        assert before == after


def check(texts: list[str]) -> None:
    for text, found in zip(texts, node.ask_urls(texts), strict=True):
        host = urlsplit(text).hostname
        assert found is not None, text
        assert (found[0].strip("[]"), found[2:]) == (host, ["", ""]), text
