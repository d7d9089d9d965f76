"""What decides something is what all nodes say that answer, at least two of several."""

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib import import_module
from inspect import signature
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.calldata.transaction import SentTransaction
from chalicelib.chains.nodes.agreement import (
    TooFewNodes,
    agree,
    comparable_logs,
    read_agreed_code,
    read_agreed_facts,
    read_agreed_head,
    read_agreed_transaction,
)
from chalicelib.chains.nodes.history.logs import BlockFacts
from chalicelib.chains.nodes.nodes import Nodes, NodesDisagree
from chalicelib.chains.nodes.rpc.jsonrpc import NodeTimeout
from tests.fakes.chain import SENDER
from tests.fakes.lying_node import silent

NOW = datetime(2026, 3, 15, tzinfo=UTC)
HASH = "0x" + "ab" * 32
ROOT = Path(__file__).parents[3]


class Stub:
    network, escrow = "base", None

    def __init__(self, **answers: Callable[..., Any]) -> None:
        self.answers = answers

    def __getattr__(self, name: str) -> Any:
        return self.answers.get(name, silent)


def nodes_of(*stubs: Stub, reports: list[str] | None = None) -> Any:
    def report(network: str, reason: str) -> None:
        if reports is not None:
            reports.append(f"{network}: {reason}")

    return Nodes([(f"host{number}", stub) for number, stub in enumerate(stubs)], lambda: NOW, report)  # type: ignore[misc]


def saying(value: Any) -> Stub:
    return Stub(has_code=lambda address: value)


def read(*stubs: Stub, reports: list[str] | None = None) -> Any:
    return agree(nodes_of(*stubs, reports=reports), lambda node: node.has_code("0x")).value


def test_what_all_nodes_say_is_agreed() -> None:
    assert read(saying(True), saying(True), saying(True)) is True


def test_of_three_nodes_two_are_enough_if_the_third_is_silent() -> None:
    for stubs in permutations((saying(False), saying(False), Stub())):
        assert read(*stubs) is False


def test_of_three_nodes_one_that_was_silent_is_not_waited_for_by_each_reading() -> None:
    for place in range(3):
        asked = list[str]()

        def hangs(address: str, asked: list[str] = asked) -> bool:
            asked.append(address)
            raise NodeTimeout("The base node does not answer")

        stubs = [saying(True), saying(True)]
        stubs.insert(place, Stub(has_code=hangs))
        times = [NOW]
        chain: Any = Nodes([(f"host{number}", stub) for number, stub in enumerate(stubs)], lambda: times[-1])  # type: ignore[misc] # noqa: B023
        for _ in range(5):
            assert read_agreed_code(chain, "0x").value
        assert len(asked) == 1
        times.append(NOW + timedelta(seconds=301))
        assert read_agreed_code(chain, "0x").value
        assert len(asked) == 2, "it may be back"


def test_one_that_was_silent_is_asked_again_where_its_word_is_needed() -> None:
    answers: list[Any] = [silent, lambda address: True, lambda address: False]
    chain = nodes_of(saying(True), Stub(has_code=lambda address: answers.pop(0)(address)))
    with pytest.raises(TooFewNodes):
        read_agreed_code(chain, "0x")
    assert read_agreed_code(chain, "0x").value
    with pytest.raises(NodesDisagree):
        read_agreed_code(chain, "0x")


def test_one_that_says_something_else_is_reported_and_nothing_is_decided() -> None:
    for stubs in permutations((saying(True), saying(True), saying(False))):
        reports = list[str]()
        with pytest.raises(NodesDisagree):
            read(*stubs, reports=reports)
        (report,) = reports
        assert report.startswith("base: host0 says ")


def test_of_several_nodes_one_alone_decides_nothing() -> None:
    for stubs in permutations((saying(True), Stub(), Stub())):
        with pytest.raises(TooFewNodes, match="Only one node of base responds"):
            read(*stubs)


def test_without_any_answer_the_first_failure_is_raised() -> None:
    with pytest.raises(ChainUnavailable, match="does not answer"):
        read(Stub(), Stub())


def test_the_only_node_of_a_network_is_believed() -> None:
    assert agree(saying(True), lambda node: node.has_code("0x")).value is True  # type: ignore[type-var]
    assert read(saying(True)) is True


def test_the_newest_block_is_one_that_all_nodes_have() -> None:
    heads = [Stub(head=lambda number=number: number) for number in (12, 10, 11)]
    for stubs in permutations(heads):
        assert read_agreed_head(nodes_of(*stubs)).value == 10


def test_a_block_with_another_time_at_one_node_is_not_agreed() -> None:
    times = (NOW, NOW.replace(year=2027))
    stubs = [Stub(block_facts=lambda numbers, time=time: {1: BlockFacts(HASH, time)}) for time in times]
    with pytest.raises(NodesDisagree):
        read_agreed_facts(nodes_of(*stubs), [1])
    assert read_agreed_facts(nodes_of(stubs[0], stubs[0]), [1]).value[1].time == NOW


def sent(block: int | None, success: bool | None) -> SentTransaction:
    return SentTransaction(SENDER, SENDER, "0x", 1, block, success)


def transaction(newest: int, *said: SentTransaction | None) -> SentTransaction | None:
    stubs = [Stub(sent_transaction=lambda tx_hash, each=each: each) for each in said]
    return read_agreed_transaction(nodes_of(*stubs), HASH, newest).value


def test_a_transaction_in_a_deep_block_is_agreed_on_with_its_outcome() -> None:
    assert transaction(5, sent(5, True), sent(5, True)) == sent(5, True)
    for liar in (sent(5, False), sent(4, True), sent(None, None), None):
        for said in permutations((sent(5, True), liar)):
            with pytest.raises(NodesDisagree):
                transaction(5, *said)


def test_a_transaction_in_no_deep_block_is_had_from_any_node_that_knows_it_and_of_one_alone_it_says_so() -> None:
    for said in permutations((None, sent(None, None), None)):
        assert transaction(5, *said) == replace(sent(None, None), is_of_one=True)
    assert transaction(5, None, sent(6, True)) == replace(sent(6, True), is_of_one=True)
    assert transaction(5, sent(6, True), sent(None, None)) == sent(6, True)
    assert transaction(5, sent(None, None)) == sent(None, None), "of the only node it is the word that counts"
    assert transaction(5, None, None) is None


@pytest.mark.parametrize("lie", [{"nonce": 0}, {"data": "0x01"}, {"sender": HASH[:42]}, {"to": None}])
def test_nodes_that_have_a_transaction_say_the_same_of_what_was_signed(lie: dict[str, Any]) -> None:
    for said in permutations((sent(None, None), replace(sent(None, None), **lie))):
        with pytest.raises(NodesDisagree):
            transaction(5, *said)


def log(index: int, data: str, tx_hash: str = HASH) -> dict[str, Any]:
    return {
        "transactionHash": tx_hash, "blockHash": HASH, "address": SENDER, "topics": [HASH], "data": data,
        "logIndex": hex(index),
    }  # fmt: skip


def test_logs_that_a_node_numbers_in_another_way_are_the_same() -> None:
    assert comparable_logs([log(7, "0x01"), log(8, "0x02")]) == comparable_logs([log(1, "0x02"), log(0, "0x01")])
    assert comparable_logs([log(7, "0x01"), log(8, "0x02")]) != comparable_logs([log(7, "0x02"), log(8, "0x01")])
    assert comparable_logs([log(7, "0x01")]) != comparable_logs([log(7, "0x01"), log(8, "0x01")])


def test_logs_whose_digits_a_node_writes_in_another_case_are_the_same() -> None:
    upper = [{**each, "topics": [HASH.upper()], "data": "0xAB", "address": SENDER.upper()} for each in [log(7, "0xab")]]
    assert comparable_logs(upper) == comparable_logs([{**log(7, "0xab"), "address": SENDER.lower()}])


DECIDED_BY_AGREED = {
    "chalicelib.payments.links.rules.is_read_past": "read_until",
    "chalicelib.payments.transfers.flows._reachable_payers": "read",
    "chalicelib.payments.transfers.order_refunds._amounts_by_payer": "senders",
    "chalicelib.commerce.core.expiry.has_ended": "read_until",
    "chalicelib.commerce.core.rules.status_of": "read_until",
    "chalicelib.crosschain.service.payment_intents.stages.call_of": "is_contract",
    "chalicelib.payments.announcements.bridges.sources._is_used": "count",
    "chalicelib.payments.announcements.bridges.rules._is_refused": "chain_time",
    "chalicelib.payments.announcements.rules._is_nonce_used": "count",
}
"""What ends, frees or pays back something, and which argument has to be agreed on."""


@pytest.mark.parametrize("name", DECIDED_BY_AGREED)
def test_a_rule_that_decides_takes_what_is_agreed_and_nothing_else(name: str) -> None:
    module, _, rule = name.rpartition(".")
    found = signature(getattr(import_module(module), rule)).parameters[DECIDED_BY_AGREED[name]].annotation
    kinds = str(found).replace("chalicelib.chains.nodes.readings.", "")
    while "[" in kinds:
        kinds = re.sub(r"\[[^][]*\]", "", kinds)
    assert {"Agreed"} <= set(kinds.split(" | ")) <= {"Agreed", "None"}


def test_only_what_agrees_makes_an_agreed_value() -> None:
    paths = sorted((ROOT / "chalicelib").rglob("*.py"))
    makers = [str(path.relative_to(ROOT)) for path in paths if re.search(r"(?<!class )\bAgreed\(", path.read_text())]
    assert makers == [
        "chalicelib/chains/nodes/agreement.py",
        "chalicelib/chains/nodes/readings.py",
        "chalicelib/payments/scanning/records.py",
    ]


def test_what_ends_by_time_is_read_as_agreed_everywhere_but_where_it_is_written() -> None:
    paths = sorted((ROOT / "chalicelib").rglob("*.py"))
    readers = [path for path in paths if re.search(r"\bagreed_until\b", path.read_text())]
    assert readers and all("scanning" in path.parts for path in readers)


BARE = """\
from datetime import datetime

from chalicelib.chains.nodes.readings import Agreed
from chalicelib.commerce.core.expiry import has_ended
from chalicelib.commerce.core.records import CommercePayment
from chalicelib.payments.announcements.bridges.observations import Source, SourceObservation
from chalicelib.payments.announcements.rules import Execution, Observation
from chalicelib.payments.links.rules import is_read_past
from chalicelib.payments.scanning.records import Cursor


def decide(payment: CommercePayment, cursor: Cursor, said: datetime, agreed: Agreed[datetime]) -> None:
    is_read_past(said, cursor.ends_until)
    has_ended(payment, agreed)
    Observation(1, agreed, agreed, None, None, False)
    SourceObservation(Source.MISSING, agreed)
    is_read_past(said, said)  # refused
    is_read_past(said, cursor.agreed_until)  # refused
    has_ended(payment, said)  # refused
    Observation(1, said, agreed, None, None, False)  # refused
    Observation(1, agreed, agreed, Execution(False, 1, "0x01"), None, False)  # refused
    SourceObservation(Source.MISSING, said)  # refused
    agreed.value = said  # refused
"""


def test_mypy_refuses_what_is_not_agreed_on_where_something_ends(tmp_path: Path) -> None:
    module = tmp_path / "bare.py"
    module.write_text(BARE, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--follow-imports=silent", f"--cache-dir={tmp_path / 'cache'}", str(module)]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    refused = {int(line.split(":")[1]) for line in said.splitlines() if ": error: " in line}
    wanted = {number for number, line in enumerate(BARE.splitlines(), 1) if line.endswith("# refused")}
    assert refused == wanted, said
