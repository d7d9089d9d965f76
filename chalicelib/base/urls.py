"""URLs that people and browsers are led to: one form that every parser takes for the same host and port."""

import re
from urllib.parse import urlsplit

_LABEL, _LAST = r"[0-9A-Za-z_]([0-9A-Za-z_-]{0,61}[0-9A-Za-z_])?", r"[A-Za-z_]([0-9A-Za-z_-]{0,61}[0-9A-Za-z_])?"
_OCTET = r"(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_HOST = rf"(({_LABEL}\.)*{_LAST}|{_OCTET}(\.{_OCTET}){{3}})"
"""A name or an IPv4 address. Browsers take a host whose last part begins with a digit for an address, or refuse it."""
_PORT = r"(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?"
_REST = r"([/?#][!#-&(-;=?-\[\]-_a-~]*)?"
"""Printable ASCII except for quotes, angle brackets, backticks and backslashes, which RFC 3986 has encoded, too."""
HTTPS_URL = rf"^https://{_HOST}{_PORT}{_REST}$"
WEB_URL = rf"^[hH][tT][tT][pP][sS]?://{_HOST}{_PORT}{_REST}$"
"""An http(s) URL that can stand in HTML, and shows the host that it leads to.

No user name, which could look like a host; no backslash, which browsers take for a slash; no character that is not seen
or turns the direction of the text; a port that exists; no IPv6 address. International names are in their xn-- form, and
other text in a path is percent-encoded.
"""


def is_url(text: str, pattern: str) -> bool:
    """Whether a text has the form of a pattern above, and its host is no longer than names can be."""
    return re.fullmatch(pattern, text) is not None and len(urlsplit(text).hostname or "") <= 253
