"""What the escrow answers about payments: one request, and no answer where a contract does not give one."""

from typing import Any

import pytest
from eth_abi import encode

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chain.escrow.reads import EscrowState, read_escrow
from chalicelib.chain.evm import EvmChain
from tests.calldata.calls import ESCROW, INFO
from tests.chain.nodes import NodeResponses, node_of

NAMES = ("0x" + "ab" * 32, "0x" + "cd" * 32)


def answering(*results: tuple[bool, bytes]) -> NodeResponses:
    return NodeResponses({"eth_call": lambda *_: "0x" + encode(["(bool,bytes)[]"], [results]).hex()})


def state(collected: bool, capturable: int, refundable: int) -> tuple[bool, bytes]:
    return True, encode(["bool", "uint120", "uint120"], [collected, capturable, refundable])


def flag(value: bool) -> tuple[bool, bytes]:
    return True, encode(["bool"], [value])


def test_many_payments_are_read_by_one_call_after_a_block() -> None:
    http = answering(state(True, 400, 600), flag(True), state(False, 0, 0), flag(False))
    found = read_escrow(node_of("base", http), ESCROW, NAMES, 17)
    assert found == (EscrowState(True, 400, 600, True), EscrowState(False, 0, 0, False))
    ((method, (call, block)),) = http.sent
    assert (method, block) == ("eth_call", "0x11")
    for name in NAMES:
        assert call["data"].count(f"34b778ed{name[2:]}") == call["data"].count(f"aa78d16a{name[2:]}") == 1
    assert ESCROW.escrow[2:].lower() in call["data"] and ESCROW.pre_approval[2:].lower() in call["data"]


def test_without_a_block_the_newest_state_is_read() -> None:
    http = answering(state(False, 0, 0), flag(False))
    read_escrow(node_of("base", http), ESCROW, NAMES[:1])
    assert http.sent[0][1][1] == "latest"


@pytest.mark.parametrize(
    "results",
    [
        ((False, b""), flag(True)),
        ((True, b""), flag(True)),
        (state(True, 1, 1), (False, b"")),
        (state(True, 1, 1), (True, b"")),
        ((True, bytes(64)), flag(True)),
    ],
)
def test_a_contract_that_does_not_answer_is_no_state(results: tuple[Any, ...]) -> None:
    with pytest.raises(ChainUnavailable):
        read_escrow(node_of("base", answering(*results)), ESCROW, NAMES[:1])


def test_a_network_without_an_escrow_says_so() -> None:
    chain = EvmChain("mainnet", "http://node.test")
    for read in (lambda: chain.read_escrow(NAMES), lambda: chain.read_erc3009_domain(INFO)):
        with pytest.raises(LookupError, match="mainnet has no escrow"):
            read()
