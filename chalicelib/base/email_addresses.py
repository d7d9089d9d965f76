"""E-mail addresses: the form that SES delivers to, and the one by which a person is found.

SES takes an ASCII local part and a domain in ASCII (`xn--...` for others). Of RFC 5321 the dot-atom form of the local
part is accepted, and neither quotes nor comments, which no provider gives out and in which anything can be hidden.
Nothing in an address can end a header: a control character or a space anywhere is refused.
"""

import re

from chalicelib.base.domains import ascii_domain
from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen

MAX_LENGTH = 254
"""The longest address of a mailbox (RFC 5321, 4.5.3.1.3: 256 with its brackets), after the domain is ASCII."""
PATTERN = r"^[A-Za-z0-9!#$%&\x27*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&\x27*+/=?^_`{|}~-]+)*@[^@\s.]+(\.[^@\s.]+)+$"
"""The apostrophe is written by its number: generators of clients put patterns between apostrophes."""
STORED_PATTERN = r"^[^@\s]{1,64}@[^@\s.]+(\.[^@\s.]+)+$"
"""Of addresses of customers, which are stored and passed on as merchants have them, and never written to from here."""
_MAX_LOCAL = 64


@frozen
class EmailAddress:
    """`written` is what mail is sent to: the local part as it was written, the domain in ASCII and lower case.

    `name` is the same in lower case, by which persons are found: providers do not tell upper and lower case apart.
    """

    written: str

    @property
    def name(self) -> str:
        return self.written.lower()


def email_address(text: str) -> EmailAddress:
    """The address. Raises BadRequest unless mail can be sent to it."""
    local, _, domain = text.rpartition("@")
    is_short = len(local) <= _MAX_LOCAL and len(domain) <= MAX_LENGTH
    if not is_short or not re.fullmatch(PATTERN, text) or not text.isprintable():
        raise BadRequest("email must be an e-mail address, such as ann@shop.example")
    written = f"{local}@{_domain(domain)}"
    if len(written) > MAX_LENGTH:
        raise BadRequest(f"email must have at most {MAX_LENGTH} characters")
    return EmailAddress(written)


def _domain(text: str) -> str:
    """The domain as DNS has it. Raises BadRequest if it cannot be one."""
    domain = ascii_domain(text)
    if domain is None:
        raise BadRequest("email must have a domain, such as shop.example, after the @")
    return domain
