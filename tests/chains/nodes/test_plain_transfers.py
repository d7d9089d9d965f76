"""Which transfers from an address for plain transfers are payments without an event, and how they are asked for."""

import random
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from chalicelib.base.errors import BadRequest, ChainUnavailable
from chalicelib.base.money import BaseUnits
from chalicelib.chains.catalogue.contracts import ERC20_FEE_PROXY, address_of
from chalicelib.chains.nodes.history.logs import ERC20_TRANSFER_TOPIC, TRANSFER_TOPIC, BlockRange
from chalicelib.chains.nodes.history.transfers import transfers_of
from chalicelib.chains.nodes.nodes import Node
from chalicelib.chains.nodes.plain_transfers.logs import PlainAddress
from chalicelib.chains.nodes.plain_transfers.reads import (
    ADDRESSES_PER_QUERY,
    BALANCES_PER_CALL,
    read_plain_address,
    read_plain_balances,
    read_plain_transfers,
)
from chalicelib.chains.nodes.readings import PlainAddressState
from chalicelib.chains.nodes.rpc.jsonrpc import RpcError

TOKEN, PAYEE, FEE_TO, OWN = ("0x" + byte * 20 for byte in ("1c", "f1", "c5", "aa"))
OTHER = "0x" + "bb" * 20
TOPIC = "0x" + "77" * 32
ADDRESS = PlainAddress(OWN, TOKEN, PAYEE, TOPIC)
PROXY = address_of(ERC20_FEE_PROXY, "sepolia").lower()


def word(value: str | int) -> str:
    return f"{value:064x}" if isinstance(value, int) else value[2:].rjust(64, "0")


def log(index: int, address: str, topics: list[str], data: str, transaction: int = 1) -> dict[str, Any]:
    return {
        "address": address, "topics": topics, "data": "0x" + data, "logIndex": hex(index), "blockNumber": "0x5",
        "blockHash": "0x" + "05" * 32, "transactionHash": f"0x{transaction:064x}",
    }  # fmt: skip


def moved(index: int, amount: int, sender: str = OWN, to: str = PAYEE, token: str = TOKEN, transaction: int = 1) -> Any:
    ends = [TRANSFER_TOPIC, "0x" + word(sender), "0x" + word(to)]
    return log(index, token, ends, word(amount), transaction)


def paid(index: int, amount: int, fee: int = 0, topic: str = TOPIC, transaction: int = 1, fee_to: str = FEE_TO) -> Any:
    data = word(TOKEN) + word(PAYEE) + word(amount) + word(fee) + word(fee_to)
    return log(index, PROXY, [ERC20_TRANSFER_TOPIC, topic], data, transaction)


def found(*logs: Any) -> list[tuple[int, str | None]]:
    return [(each.amount, each.emptied_address) for each in transfers_of("sepolia", logs, None, [ADDRESS])]


def test_a_transfer_to_the_payee_without_an_event_is_a_payment_of_the_address() -> None:
    assert found(moved(0, 7)) == [(7, OWN)]


def test_the_transfers_behind_an_event_are_part_of_it() -> None:
    assert found(moved(0, 7), moved(1, 1, to=FEE_TO), paid(2, 7, 1)) == [(7, None)]
    assert found(moved(0, 7), moved(1, 1), paid(2, 7, 1, fee_to=PAYEE)) == [(7, None)], "the payee receives the fee"


def test_one_event_takes_one_transfer_and_only_of_its_transaction_and_reference() -> None:
    assert set(found(moved(0, 7), moved(1, 7), paid(2, 7))) == {(7, None), (7, OWN)}
    assert len(found(moved(0, 7), paid(1, 7, transaction=2))) == 2
    assert len(found(moved(0, 7), paid(1, 7, topic="0x" + "66" * 32))) == 2


def test_other_tokens_receivers_senders_and_nothing_are_no_payments() -> None:
    assert found(moved(0, 7, token=OTHER), moved(1, 7, to=OTHER), moved(2, 7, sender=OTHER), moved(3, 0)) == []
    assert found(moved(0, 7, sender=OTHER, to=OWN)) == []


def test_a_log_that_is_listed_twice_counts_once() -> None:
    assert found(moved(0, 7), moved(0, 7)) == [(7, OWN)]
    assert found(moved(0, 7), moved(0, 7), paid(1, 7)) == [(7, None)]


def test_what_is_found_does_not_depend_on_the_order_of_the_logs_nor_on_their_block() -> None:
    logs = [moved(0, 7), moved(1, 1, to=FEE_TO), paid(2, 7, 1), moved(3, 5), moved(4, 7), moved(5, 9, transaction=2)]
    keys = {each.event_key for each in transfers_of("sepolia", logs, None, [ADDRESS])}
    assert len(keys) == 4
    chance = random.Random(1)
    for _ in range(20):
        chance.shuffle(logs)
        other = [{**each, "blockNumber": "0x6", "blockHash": "0x" + "06" * 32} for each in logs]
        for shuffled in (logs, other):
            assert {each.event_key for each in transfers_of("sepolia", shuffled, None, [ADDRESS])} == keys


class Asked:
    """A node that keeps what it is asked, and has no logs."""

    network = "sepolia"

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def outcomes(self, calls: Any) -> list[Any]:
        self.asked += [params[0] for method, params in calls if method == "eth_getLogs"]
        header = {"hash": "0x" + "05" * 32, "number": "0x5"}
        return [[] if method == "eth_getLogs" else header for method, _ in calls]


def test_addresses_are_asked_for_as_senders_500_at_a_time() -> None:
    node, many = Asked(), [PlainAddress(f"0x{n:040x}", TOKEN, PAYEE, TOPIC) for n in range(ADDRESSES_PER_QUERY + 1)]
    assert read_plain_transfers(node, BlockRange(1, 5), many) == ()  # type: ignore[arg-type]
    first, second = node.asked
    assert first["topics"] == [[TRANSFER_TOPIC], ["0x" + word(f"0x{n:040x}") for n in range(ADDRESSES_PER_QUERY)]]
    assert (first["address"], first["fromBlock"], first["toBlock"]) == ([TOKEN], "0x1", "0x5")
    assert len(second["topics"][1]) == 1


class Answering:
    """A node that answers the calls of one batch as it is told."""

    network = "sepolia"

    def __init__(self, *outcomes: Any) -> None:
        self.answers = list(outcomes)

    def outcomes(self, calls: Any) -> list[Any]:
        assert len(calls) == len(self.answers)
        return self.answers


REVERTED = RpcError("sepolia", {"code": 3, "message": "execution reverted"})
OUT_OF_GAS = RpcError("sepolia", {"code": -32000, "message": "out of gas"})
REFUSED = RpcError("sepolia", {"code": -32005, "message": "too many requests"})


@pytest.mark.parametrize("balance", ["0x", "0x01", "0x" + "00" * 64, REVERTED, OUT_OF_GAS])
def test_an_address_that_is_no_token_is_said_to_be_none_and_no_node_has_failed(balance: Any) -> None:
    node = Node(  # the one of nodes.py, which remembers a failure
        "node.example", cast(Any, SimpleNamespace(read=lambda: read_plain_address(asked(balance), OWN, TOKEN))), now
    )
    with pytest.raises(BadRequest, match="no token is at"):
        node.read()
    assert not node.has_failed


def test_a_node_that_refuses_the_balance_has_failed_and_a_balance_is_read() -> None:
    with pytest.raises(ChainUnavailable):
        read_plain_address(asked(REFUSED), OWN, TOKEN)
    with pytest.raises(ChainUnavailable):
        read_plain_address(asked("0x", code=REFUSED), OWN, TOKEN)
    assert read_plain_address(asked("0x" + word(7)), OWN, TOKEN) == PlainAddressState(BaseUnits(7), False, True)
    assert read_plain_address(asked("0x7"), OWN, None) == PlainAddressState(BaseUnits(7), False, True)


def asked(balance: Any, code: Any = "0x") -> Any:
    return Answering(balance, code, "0x60")


def now() -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC)


def test_without_addresses_a_node_is_asked_nothing() -> None:
    node = Asked()
    assert read_plain_transfers(node, BlockRange(1, 5), ()) == ()  # type: ignore[arg-type]
    assert node.asked == []


def aggregated(*balances: int | None) -> str:
    """What aggregate3 returns: a word of each call, or that it failed."""
    items = ["0" * 63 + ("0" if each is None else "1") + word(64) + word(0 if each is None else 32) + ("" if each is None else word(each)) for each in balances]
    starts = [word(32 * len(items) + sum(len(each) // 2 for each in items[:index])) for index in range(len(items))]
    return "0x" + word(32) + word(len(items)) + "".join(starts) + "".join(items)


class Prepared:
    """A node that answers each eth_call as it is told, and notes after which block it is asked."""

    network = "sepolia"

    def __init__(self, *answers: str) -> None:
        self.answers, self.blocks = list(answers), list[str]()

    def results(self, calls: Any) -> list[str]:
        self.blocks += [params[1] for _, params in calls]
        return [self.answers.pop(0) for _ in calls]


def test_balances_are_read_200_in_a_call_after_one_block() -> None:
    many = [PlainAddress(f"0x{n:040x}", TOKEN, PAYEE, TOPIC) for n in range(BALANCES_PER_CALL + 1)]
    node = Prepared(aggregated(*range(BALANCES_PER_CALL)), aggregated(None))
    assert read_plain_balances(node, many, 255) == (*range(BALANCES_PER_CALL), None)  # type: ignore[arg-type]
    assert node.blocks == ["0xff", "0xff"]


@pytest.mark.parametrize("answer", ["0x", aggregated(), aggregated(1, 2), "0x" + word(32) + word(1)])
def test_an_answer_of_another_number_of_balances_is_no_answer(answer: str) -> None:
    with pytest.raises(ChainUnavailable):
        read_plain_balances(Prepared(answer), [ADDRESS], 5)  # type: ignore[arg-type]
