"""What the escrow answers about payments: one request, and no answer where a contract does not give one."""

from typing import Any

import pytest
from eth_abi import encode

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.nodes.escrow.reads import EscrowState, read_able_payers, read_escrow
from chalicelib.chains.nodes.evm import EvmChain
from tests.chains.calldata.calls import ESCROW, INFO, PAYEE, USDC, WALLET
from tests.chains.nodes.nodes import NodeResponses, node_of

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


def amount(value: int) -> tuple[bool, bytes]:
    return True, encode(["uint256"], [value])


NONE = (False, b"")
ABLE = (amount(70), amount(70), flag(True))


@pytest.mark.parametrize(
    "unable",
    [
        (amount(69), amount(70), flag(True)),
        (amount(70), amount(69), flag(True)),
        (amount(70), amount(70), flag(False)),
        (NONE, amount(70), flag(True)),
        (amount(70), NONE, flag(True)),
        (amount(70), amount(70), NONE),
    ],
)
def test_wallets_that_could_pay_are_those_with_tokens_allowance_and_approval(unable: tuple[Any, ...]) -> None:
    wallets = {WALLET: NAMES[0], PAYEE: NAMES[1], USDC: NAMES[0]}
    for places in ((ABLE, unable, ABLE), (unable, ABLE, unable), (unable, unable, ABLE)):
        http = answering(*(each for place in places for each in place))
        able = read_able_payers(node_of("base", http), ESCROW, USDC, 70, wallets)
        assert able == tuple(wallet for wallet, place in zip(wallets, places, strict=True) if place is ABLE)
        ((method, (call, block)),) = http.sent
        assert (method, block) == ("eth_call", "latest")
        assert [call["data"].count(f"aa78d16a{name[2:]}") for name in NAMES] == [2, 1]


def test_a_wallet_that_a_stranger_made_answer_nothing_is_not_able_and_holds_nobody_up() -> None:
    http = answering(NONE, NONE, NONE, *ABLE)
    assert read_able_payers(node_of("base", http), ESCROW, USDC, 1, dict(zip((WALLET, PAYEE), NAMES, strict=True))) == (
        PAYEE,
    )


def test_a_network_without_an_escrow_says_so() -> None:
    chain = EvmChain("mainnet", "http://node.test")
    for read in (lambda: chain.read_escrow(NAMES), lambda: chain.read_erc3009_domain(INFO)):
        with pytest.raises(LookupError, match="mainnet has no escrow"):
            read()
