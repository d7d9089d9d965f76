"""What wallets have and have allowed, read from a node."""

from typing import Any

import pytest

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.money import BaseUnits
from chalicelib.chains.nodes.accounts import balances
from chalicelib.chains.nodes.accounts.balances import TokenReading
from tests.chains.nodes.accounts.test_relaying import node_of

TOKEN, SPENDER = "0x" + "01" * 20, "0x" + "02" * 20
BALANCE_OF, ALLOWANCE = "0x70a08231", "0xdd62ed3e"


def answer(call: dict[str, Any]) -> dict[str, Any]:
    """The last byte of the owner's address, and ten times that as the allowance."""
    data = call["params"][0]["data"]
    owner = int(data[10:74][-2:], 16)
    return {"result": f"0x{owner * {BALANCE_OF: 1, ALLOWANCE: 10}[data[:10]]:064x}"}


def test_the_funds_of_many_wallets_are_read_by_one_request() -> None:
    node, http = node_of(answer)
    wanted = [(f"0x{number:040x}", TOKEN, SPENDER) for number in range(1, 11)]
    found = balances.read_funds(node, wanted)
    assert found == tuple(TokenReading(BaseUnits(number), BaseUnits(10 * number)) for number in range(1, 11))
    assert http.requests == 1


def test_what_is_no_number_is_no_reading() -> None:
    node, _ = node_of(lambda call: {"result": "0x"})
    with pytest.raises(ChainUnavailable):
        balances.read_funds(node, [(SPENDER, TOKEN, SPENDER)])
