"""What proves a domain, when it counts as verified, and what the payment page may say of a merchant."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from chalicelib.accounts.domains.records import PageDomain
from chalicelib.base.domains import ascii_domain
from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen
from chalicelib.base.ids import Entropy
from chalicelib.platform.access.credentials.records import ClientId, CredentialStatus

TXT_LABEL = "_payment-requests"
FILE_PATH = "/.well-known/payment-requests.txt"
MAX_LENGTH = 253 - len(f"{TXT_LABEL}.")
"""Of a domain, so that the name of its TXT record is one, too (RFC 1035, 2.3.4)."""
MAX_LABEL = 40
"""How many characters of a label payers are shown."""
_INVISIBLE = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"
"""Letters and marks that are not seen."""
_SYMBOLS = "+|$\u20ac\u00a3"
_DOT_OF_NAME = re.compile(r"(?<=\w)[.\u2024\u3002\uff0e\uff61](?=\w)")
"""Dots between letters, as in a domain: the full stop, and those that IDNA takes for one (UTS 46)."""


@frozen
class Merchant:
    """What the payment page says of who asks for a payment: a domain that is verified, else None; and the label of the
    client id, which is what the merchant says, and never verified."""

    domain: str | None
    label: str | None


def domain_of(client: ClientId, text: str, old: PageDomain | None, now: datetime, entropy: Entropy) -> PageDomain:
    """The client id's domain as it was sent. One that is set again keeps its proof and what is known of it.

    Raises BadRequest unless it is a domain.
    """
    domain = _parse_domain(text)
    if old is not None and old.domain == domain:
        return replace(old, set_at=now)
    return PageDomain(
        client_id_hash=client.client_id_hash,
        record_id=client.record_id,
        account_id=client.account_id,
        domain=domain,
        proof=f"payment-requests={entropy(16).hex()}",
        set_at=now,
        version=old.version if old else 0,
    )


def txt_name(domain: PageDomain) -> str:
    return f"{TXT_LABEL}.{domain.domain}"


def file_url(domain: PageDomain) -> str:
    return f"https://{domain.domain}{FILE_PATH}"


def proves(domain: PageDomain, texts: Iterable[str]) -> bool:
    """Whether one of the texts, which are records or lines of a file, is the proof."""
    return domain.proof in (each.strip() for each in texts)


def after_check(domain: PageDomain, problem: str | None, now: datetime) -> PageDomain:
    """The domain after its proof was looked for. `problem` says why it was not found; None if it was."""
    if problem is None:
        return replace(domain, checked_at=now, verified_at=now, problem=None)
    return replace(domain, checked_at=now, problem=problem)


def has_ended(before: PageDomain, after: PageDomain) -> bool:
    """Whether a domain lost its mark between two checks: when it was checked before it counted as verified."""
    if before.checked_at is None or after.checked_at is None:
        return False
    return is_verified(before, before.checked_at) and not is_verified(after, after.checked_at)


def is_verified(domain: PageDomain, now: datetime) -> bool:
    return domain.verified_until is not None and now < domain.verified_until


def merchant_of(
    client: ClientId | None, domain: PageDomain | None, has_known_payees: bool, now: datetime
) -> Merchant | None:
    """What the page says of a link of the client id; None if its owner has set no domain, or it is not in use.

    A domain is shown only if the owner of the client id knows the payees (`Link.has_known_payees`).
    """
    if client is None or domain is None or client.status is not CredentialStatus.ACTIVE:
        return None
    shown = domain.domain if has_known_payees and is_verified(domain, now) else None
    return Merchant(shown, shown_label(client.label))


def shown_label(text: str) -> str | None:
    """A label as payers are shown it; None if nothing is left.

    Without characters that are not seen, turn the direction of the text, or could pass for the mark of a verified
    domain (all symbols), on one line, never in the form of a domain, and cut after MAX_LABEL characters.
    """
    line = " ".join("".join(each for each in text if _is_shown(each)).split())
    apart = _DOT_OF_NAME.sub(". ", line)
    return (apart if len(apart) <= MAX_LABEL else f"{apart[: MAX_LABEL - 1].rstrip()}\u2026") or None


def _is_shown(character: str) -> bool:
    if character in _INVISIBLE:
        return False
    return unicodedata.category(character)[0] in "LMNPZ" or character.isspace() or character in _SYMBOLS


def _parse_domain(text: str) -> str:
    domain = ascii_domain(text.strip()) if len(text) <= MAX_LENGTH else None
    last = "" if domain is None else domain.rpartition(".")[2]
    if domain is None or len(domain) > MAX_LENGTH or "." not in domain or last.isdigit():
        raise BadRequest(
            f"domain must be the name of a domain, such as shop.example, with at most {MAX_LENGTH} characters: without "
            "https://, port and path"
        )
    return domain
