"""Which texts are names, whether they are normalized (ENSIP-15), and which of a call's fields are to be resolved."""

import re
from collections.abc import Iterable

from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen
from chalicelib.payments.requests.field_problems import Path

LONGEST = 255
"""Bytes of a name."""
MOST_NAMES = 10
"""How many different names a call may have: each takes several questions to nodes, and to servers of others."""
_ADDRESS_LIKE = re.compile("0x[0-9a-f]{8,}")
ADVICE = "give the address"


@frozen
class NamedField:
    """A name in a body: where it stands, and the network on which it is paid."""

    path: Path
    text: str
    network: str


def is_name(text: str | None) -> bool:
    """Whether a text is meant as a name: no address has a dot."""
    return text is not None and "." in text


def check_normalized(text: str) -> str:
    """The name. Raises BadRequest unless it is in the normalized form, with that form if there is one.

    Imports `ens`, which takes about a second, and as long again for the first name.
    """
    if len(text.encode("utf-8", "replace")) > LONGEST:
        raise BadRequest(f"is not a name: one has at most {LONGEST} bytes; {ADVICE}")
    from ens.exceptions import ENSException
    from ens.utils import normalize_name

    try:
        form: str = normalize_name(text)
    except (ENSException, ValueError) as error:
        raise BadRequest(f"is not a name that ENS accepts (ENSIP-15: {_reason(error)}); {ADVICE}") from None
    if form != text:
        meant = f"if you mean {form}, write that" if form else ADVICE
        raise BadRequest(f"is not in the normalized form of ENS (ENSIP-15); {meant}")
    if any(_ADDRESS_LIKE.match(label) for label in form.split(".")):
        raise BadRequest(f"is a name that looks like an address, and may belong to somebody else; {ADVICE}")
    return form


def check_count(fields: Iterable[NamedField]) -> None:
    """Raises BadRequest for too many different names."""
    if len({each.text for each in fields}) > MOST_NAMES:
        raise BadRequest(f"One call may have at most {MOST_NAMES} different names: {ADVICE} of the others")


def _reason(error: Exception) -> str:
    """What ENS has against it, on one line."""
    said = " ".join(str(error).split())
    return "".join(each for each in said if each.isprintable())[:200].rstrip(". ") or "it is not valid"
