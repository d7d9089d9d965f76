"""What another account owns is answered as what never was: each operation that names a thing, each kind of credential.

What an operation names is what differs between the examples of two accounts, so that none can be forgotten.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.platform.http.operation import OPERATIONS, Operation
from tests.fakes.world import clear_tables
from tests.platform.http.test_matrix import OWNED, named
from tests.support.client import Api, Reply
from tests.support.examples import Prepared, accepted_ways, headers_for, is_barred, prepared
from tests.support.tenants import Tenant

TELLS_APART = {
    "read_multicall_payout": "the interface has 403 for another account's",
    "create_multicall_payout": "a published reason says that a payout is another account's",
    "batch_payouts": "the same reason",
    **dict.fromkeys(
        (
            "remove_payee_destination", "change_own_payee_destination", "look_up_own_payee_destination",
            "deactivate_own_payee_destination",
        ),
        "a destination's id is made of a wallet and a token: it tells whose it is without being looked up",
    ),
}
"""Operations whose answers differ, with the reason."""


def texts(value: Any) -> Iterator[str]:
    """The texts within a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from texts(each)


def places_of(known: Operation) -> tuple[str, ...]:
    """Where an operation names what it is about."""
    return ("path",) if "{" in known.path else ("query", "body")


def ids_of(first: Prepared, second: Prepared) -> set[str]:
    """What the example of one account names and that of another does not."""
    places = places_of(first.known)
    found = [{text for place in places for text in texts(getattr(each, place))} for each in (first, second)]
    return found[0] - found[1]


def unknown(text: str) -> str:
    """Another text of the same form: letters and digits are exchanged for their like."""
    changed = text[-8:].translate(str.maketrans("0123456789ABCDEFabcdef", "1032547698BADCFEbadcfe"))
    return text[:-8] + changed


def with_unknown(value: Any, ids: set[str]) -> Any:
    if isinstance(value, str):
        return unknown(value) if value in ids else value
    if isinstance(value, dict):
        return {name: with_unknown(each, ids) for name, each in value.items()}
    return [with_unknown(each, ids) for each in value] if isinstance(value, list) else value


def shown(reply: Reply, ids: set[str]) -> str:
    """The answer without the ids that were sent, of which it may repeat some."""
    text = f"{reply.status} {reply.body.decode()}"
    for each in sorted(ids, key=len, reverse=True):
        text = text.replace(each, "-").replace(unknown(each), "-")
    return text


@pytest.mark.parametrize("known", [each for each in OWNED if each.name not in TELLS_APART], ids=named)
def test_another_accounts_thing_is_answered_as_an_unknown_one(api: Api, known: Operation) -> None:
    for way in accepted_ways(known):
        if is_barred(known, way):
            continue
        clear_tables()
        caller = Tenant()
        headers = headers_for(known, caller, way)
        theirs, others = (prepared(known, Tenant(), way) for _ in range(2))
        ids = ids_of(theirs, others)
        assert ids, "the examples of two accounts name different things"
        never = replace(theirs, **{place: with_unknown(getattr(theirs, place), ids) for place in places_of(known)})
        replies = [each.send(api, headers) for each in (theirs, never)]
        assert shown(replies[0], ids) == shown(replies[1], ids), way.name


def test_the_operations_that_tell_apart_are_among_them() -> None:
    assert TELLS_APART.keys() <= {known.name for known in OPERATIONS if known in OWNED}
