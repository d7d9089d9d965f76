"""URLs that people and browsers are led to: one form that every parser takes for the same host and port."""

import re
from ipaddress import IPv4Address, IPv6Address
from urllib.parse import urlsplit

_HOST = r"([0-9A-Za-z_]([0-9A-Za-z_-]*[0-9A-Za-z_])?(\.[0-9A-Za-z_]([0-9A-Za-z_-]*[0-9A-Za-z_])?)*|\[[0-9A-Fa-f:.]+\])"
_PORT = r"(:([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?"
_REST = r"([/?#][!#-&(-;=?-\[\]-_a-~]*)?"
"""Printable ASCII except for quotes, angle brackets, backticks and backslashes, which RFC 3986 has encoded, too."""
HTTPS_URL = rf"^https://{_HOST}{_PORT}{_REST}$"
WEB_URL = rf"^[hH][tT][tT][pP][sS]?://{_HOST}{_PORT}{_REST}$"
"""An http(s) URL that can stand in HTML, and shows the host that it leads to.

No user name, which could look like a host; no backslash, which browsers take for a slash; no character that is not seen
or turns the direction of the text; a port that exists. International names are in their xn-- form, other text in a path
is percent-encoded.
"""


def is_url(text: str, pattern: str) -> bool:
    """Whether a text has the form of a pattern above and its host can exist.

    Browsers take a host whose last part is a number for an IPv4 address, and refuse it if it is none.
    """
    if re.fullmatch(pattern, text) is None:
        return False
    try:
        host = urlsplit(text).hostname or ""
        if ":" in host:
            IPv6Address(host)
        elif _is_number(host.rpartition(".")[2]):
            IPv4Address(host)
    except ValueError:
        return False
    return len(host) <= 253 and all(len(label) <= 63 for label in host.split("."))


def _is_number(label: str) -> bool:
    return label.isdigit() or re.fullmatch("0x[0-9a-f]*", label) is not None
