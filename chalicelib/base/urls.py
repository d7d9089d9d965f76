"""URLs that people and browsers are led to: one form that every parser takes for the same host and port."""

import re
from unicodedata import category
from urllib.parse import quote, urlsplit

_LABEL, _LAST = r"[0-9A-Za-z_]([0-9A-Za-z_-]{0,61}[0-9A-Za-z_])?", r"[A-Za-z_]([0-9A-Za-z_-]{0,61}[0-9A-Za-z_])?"
_OCTET = r"(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_HOST = rf"(({_LABEL}\.)*{_LAST}|{_OCTET}(\.{_OCTET}){{3}}|\[[0-9a-f:]+\])"
"""A name, an IPv4 address, or an IPv6 address in its shortest form. Browsers take a host whose last part begins with a
digit for an address, or refuse it."""
_ASCII = "".join(map(chr, range(128)))
_PORT = r"(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?"
_REST = r"([/?#][!#-&(-;=?-\[\]-_a-~]*)?"
"""Printable ASCII except for quotes, angle brackets, backticks and backslashes, which RFC 3986 has encoded, too."""
HTTPS_URL = rf"^https://{_HOST}{_PORT}{_REST}$"
WEB_URL = rf"^[hH][tT][tT][pP][sS]?://{_HOST}{_PORT}{_REST}$"
"""An http(s) URL that can stand in HTML, and shows the host that it leads to.

No user name, which could look like a host; no backslash, which browsers take for a slash; no character that is not seen
or turns the direction of the text; a port that exists. International names are in their xn-- form, and other text in a
path is percent-encoded.
"""
_IN_NAME = r"[^\x00-\x2c\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\x7f]"
"""A character of a name in any script: of ASCII letters, digits, hyphens, dots and underscores."""
_SENT_HOST = rf"({_HOST}|\[[0-9A-Fa-f:]+\]|[0-9A-Za-z._-]*[^\x00-\x7f]{_IN_NAME}*)"
"""A name in any script has one first character that is not ASCII: there is one way to match it, however long it is."""
SENT_WEB_URL = rf"^[hH][tT][tT][pP][sS]?://{_SENT_HOST}{_PORT}([/?#][^\s\\\x22\x27<>`]*)?$"
"""What a caller may send for a `WEB_URL`: names and paths in any script, and IPv6 addresses in any form."""
_JOINERS = {0x200C: None, 0x200D: None}
"""Not seen themselves. Persian, Indian scripts and emoji are written with them."""
_PARTS = re.compile(r"([a-zA-Z]+://)([^/?#:\[\]@]+|\[[0-9A-Fa-f:]+\])(:[0-9]*)?([/?#].*)?", re.DOTALL)


def ascii_url(text: str) -> str:
    """A URL with its host in the form that goes over the network, and what else is not ASCII percent-encoded.

    International names become xn-- (IDNA 2008, mapped as by browsers, UTS 46). A text that cannot have that form, such
    as one with characters that are not seen, apart from joiners behind the host, is returned unchanged: `is_url`
    refuses it.
    """
    parts = _PARTS.fullmatch(text)
    if parts is None:
        return text
    scheme, host, port, rest = parts.groups(default="")
    if any(category(each)[0] in "CZ" for each in host + rest.translate(_JOINERS)):
        return text
    return scheme + _ascii_host(host) + port + quote(rest, safe=_ASCII)


def _ascii_host(host: str) -> str:
    if host.startswith("["):
        short = _short_ipv6(host[1:-1])
        return f"[{short}]" if short else host
    if host.isascii():
        return host
    import idna

    try:
        return idna.encode(host, uts46=True).decode()
    except idna.IDNAError:
        return host


def _short_ipv6(host: str) -> str | None:
    """An IPv6 address as browsers write it; None if it is none, or an IPv4 address in the form of one."""
    from ipaddress import IPv6Address

    try:
        address = IPv6Address(host)
    except ValueError:
        return None
    return None if address.ipv4_mapped else address.compressed


def is_url(text: str, pattern: str) -> bool:
    """Whether a text has the form of a pattern above, and its host is no longer than names can be, and one that
    browsers open."""
    if re.fullmatch(pattern, text) is None:
        return False
    try:
        host = urlsplit(text).hostname or ""
    except ValueError:  # in brackets stands no address
        return False
    labels = [each for each in host.split(".") if each.startswith("xn--")]
    return len(host) <= 253 and (":" not in host or _short_ipv6(host) == host) and all(map(_is_encoded, labels))


def _is_encoded(label: str) -> bool:
    """Whether a label `xn--...` is the form of another text that names may have (UTS 46): browsers refuse others."""
    import idna

    try:
        text = label[4:].encode().decode("punycode")
        idna.check_initial_combiner(text)
        idna.check_bidi(text)
        same = idna.uts46_remap(text, std3_rules=False, transitional=False) == text
    except UnicodeError:
        return False
    return same and not text.isascii() and text.encode("punycode").decode() == label[4:]
