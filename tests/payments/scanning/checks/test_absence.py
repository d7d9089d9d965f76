"""How blocks are known: by headers, by receipts, by another node, or by one node alone; and what nodes hide and forge."""

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aws_lambda_powertools import Logger

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.catalogue.networks import require_network
from chalicelib.chains.nodes.history.log_ranges import BlockPayments
from chalicelib.chains.nodes.history.logs import BlockRange, InconsistentNode
from chalicelib.chains.nodes.history.receipts import BlockReceipts
from chalicelib.chains.nodes.nodes import Nodes, NodesDisagree, one_node
from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.scanning import flows as scanning
from chalicelib.payments.scanning import store as scan_store
from chalicelib.payments.scanning.checks.absence import HEADERS_AT_ONCE, TRIAL, weigh
from chalicelib.payments.scanning.evidence import FORGOTTEN_AFTER
from chalicelib.payments.scanning.jobs import start_scans
from chalicelib.payments.scanning.records import Cursor, Evidence
from chalicelib.platform.metrics import CHECKS_NOT_RUN
from tests.fakes.chain import FakeChain, FakeChains
from tests.fakes.world import World, in_process_aws

AMOUNT = 12_500_000


class Network:
    """A network with so many nodes of one chain, whose headers can be checked; the first one is preferred."""

    def __init__(self, client: Any, nodes: int = 2, name: str = "sepolia", **settings: Any) -> None:
        self.nodes = [FakeChain(name) for _ in range(nodes)]
        for node in self.nodes:
            node.blocks, node.is_checkable = self.nodes[0].blocks, True
        chains = FakeChains(self.nodes[0])
        self.world, self.name = World(client, chains, **settings), name
        if nodes > 1:
            hosts = [(f"node-{number}", node) for number, node in enumerate(self.nodes)]
            chains._chains[name] = Nodes(hosts, self.world.clock)  # type: ignore[arg-type,assignment]
        self.stream = io.StringIO()
        log = Logger(service="absence", level="INFO")
        log.registered_handler.setStream(self.stream)  # type: ignore[attr-defined]
        self.world.services = replace(self.world.start(), log=log)
        self.world.chain = self.nodes[0]
        self.tick()

    @property
    def first(self) -> FakeChain:
        return self.nodes[0]

    @property
    def second(self) -> FakeChain:
        return self.nodes[1]

    def end_trial(self) -> None:
        """Until a week after the first run of both checks."""
        payment = self.world.create_link()
        self.first.pay(payment.requests[0], amount=1)
        self.tick()
        cursor = self.cursor
        assert cursor.headers_since is not None
        self.world.services.store.write(replace(cursor, receipts_since=cursor.headers_since))
        self.world.advance(TRIAL.total_seconds())
        for _ in range(3):
            self.tick()

    def tick(self, blocks: int = 2) -> int:
        self.first.mine(blocks)
        found = scanning.scan(self.world.services, self.name)
        self.world.record()
        return found

    @property
    def cursor(self) -> Cursor:
        found = scan_store.cursor(self.world.services.store, self.name)
        assert found is not None
        return found

    @property
    def evidence(self) -> Evidence | None:
        return self.cursor.evidence

    def logged(self, message: str) -> list[str]:
        lines = [json.loads(line) for line in self.stream.getvalue().splitlines()]
        return [line["reason"] for line in lines if line["message"] == message]

    def paid(self, payable: PayableLink) -> int:
        return self.world.load(payable).requests[0].paid


@pytest.fixture
def client() -> Iterator[Any]:
    with in_process_aws() as client:
        yield client


@pytest.fixture
def pair(client: Any) -> Network:
    return Network(client)


# what is known


def test_blocks_without_payments_are_proved_by_their_blooms(pair: Network) -> None:
    pair.tick()
    assert (pair.evidence, pair.cursor.weak) == (Evidence.PROVED_BY_BLOOM, ())


def test_a_payment_is_proved_by_the_receipts_of_its_block(pair: Network) -> None:
    payment = pair.world.create_link()
    pair.first.pay(payment.requests[0])
    assert pair.tick() == 1
    assert (pair.evidence, pair.paid(payment)) == (Evidence.PROVED_BY_RECEIPTS, AMOUNT)


def test_one_node_proves_nothing_however_well_its_headers_fit(client: Any) -> None:
    alone = Network(client, nodes=1)
    payment = alone.world.create_link()
    alone.first.pay(payment.requests[0])
    alone.tick()
    assert (alone.evidence, alone.paid(payment)) == (Evidence.UNPROVED, AMOUNT)


@pytest.mark.parametrize("other", ["down", "behind"])
def test_without_an_answer_of_another_node_nothing_is_proved_until_it_answers(pair: Network, other: str) -> None:
    pair.second.is_down, pair.second.lag = other == "down", 5 if other == "behind" else 0
    pair.tick()
    assert pair.evidence is Evidence.UNPROVED
    pair.second.is_down, pair.second.lag = False, 0
    pair.world.advance(601)
    for _ in range(2):
        pair.tick()
    assert (pair.evidence, pair.cursor.weak) == (Evidence.PROVED_BY_BLOOM, ())


def test_a_node_with_another_last_block_holds_the_network(pair: Network) -> None:
    pair.second.blocks = [replace(each, hash="0x" + "ee" * 32) for each in pair.first.blocks]
    pair.second.blocks += [replace(pair.first.blocks[-1], hash="0x" + "ee" * 32)] * 2
    with pytest.raises(NodesDisagree):
        pair.tick()


def test_headers_that_cannot_be_checked_prove_nothing_and_are_counted_and_another_node_corroborates(
    pair: Network,
) -> None:
    for node in pair.nodes:
        node.is_checkable = False
    pair.world.metrics.taken(CHECKS_NOT_RUN)
    pair.tick()
    assert pair.evidence is Evidence.CORROBORATED
    assert pair.world.metrics.taken(CHECKS_NOT_RUN) == {"sepolia": [2]}


def test_a_check_that_cannot_be_made_with_one_node_leaves_the_blocks_unproved(client: Any) -> None:
    alone = Network(client, nodes=1)
    alone.first.is_checkable = False
    alone.tick()
    assert alone.evidence is Evidence.UNPROVED


def test_of_many_blocks_at_once_no_headers_are_read_and_they_are_corroborated(pair: Network) -> None:
    pair.tick(HEADERS_AT_ONCE + 50)
    assert pair.evidence is Evidence.CORROBORATED


@pytest.mark.parametrize("name", ["bsc", "arbitrum-one", "tron"])
def test_networks_with_many_headers_or_none_are_corroborated_and_never_proved(client: Any, name: str) -> None:
    pair = Network(client, name=name)
    asked = list[int]()
    for node in pair.nodes:
        read = node._header
        node._header = lambda number, read=read: asked.append(number) or read(number)  # type: ignore[method-assign,misc]
    begin = pair.first.mine(60) or pair.tick() or pair.cursor.scanned_to
    asked.clear()
    for _ in range(3):
        pair.tick(70)
        assert pair.evidence is Evidence.CORROBORATED
    every = 0 if name == "tron" else 100
    assert asked == [number for number in range(begin + 1, pair.cursor.scanned_to + 1) if every and number % every == 0]


# what nodes hide


@pytest.mark.parametrize("alone", [False, True])
def test_a_log_that_a_node_leaves_out_of_its_list_is_found_by_its_own_headers_at_once(client: Any, alone: bool) -> None:
    network = Network(client, nodes=1 if alone else 2)
    payment = network.world.create_link()
    network.first.hides_logs = True
    network.first.pay(payment.requests[0])
    assert network.tick() == 1
    assert network.paid(payment) == AMOUNT
    new = Evidence.UNPROVED if alone else Evidence.CORROBORATED
    assert network.evidence is new, "the check is new, and it differs from the node"
    assert len(network.logged("check differs from a node")) == 1
    assert not network.logged("node lists other logs")


def test_after_a_week_what_is_proved_takes_the_place_of_what_was_listed(pair: Network) -> None:
    pair.end_trial()
    payment = pair.world.create_link()
    pair.first.hides_logs = True
    pair.first.pay(payment.requests[0])
    assert pair.tick() == 1
    assert (pair.evidence, pair.paid(payment)) == (Evidence.PROVED_BY_RECEIPTS, AMOUNT)
    (reason,) = pair.logged("node lists other logs")
    assert reason.startswith("node-0 lists 0 logs of block") and reason.endswith("which has 1")


@pytest.mark.parametrize("hides", ["first", "second"])
def test_where_two_nodes_differ_the_header_of_the_block_is_looked_up(client: Any, hides: str) -> None:
    """On networks of which not all headers are read."""
    pair = Network(client, headers_every={"sepolia": 100})
    payment = pair.world.create_link()
    getattr(pair, hides).hides_logs = True
    pair.first.pay(payment.requests[0])
    assert pair.tick(20) == 1
    assert pair.paid(payment) == AMOUNT


def test_where_two_nodes_differ_and_no_header_can_be_checked_the_blocks_are_unproved_and_read_again(client: Any) -> None:
    pair = Network(client, headers_every={"sepolia": 0})
    payment = pair.world.create_link()
    pair.first.hides_logs = True
    pair.first.pay(payment.requests[0])
    assert pair.tick() == 0
    assert pair.evidence is Evidence.UNPROVED
    assert len(pair.logged("nodes list different logs")) == 1
    for _ in range(3):
        pair.world.advance(601)
        pair.tick()
    assert pair.paid(payment) == AMOUNT


def test_a_block_whose_header_has_a_log_more_than_the_lists_of_both_nodes_is_looked_up(client: Any) -> None:
    pair = Network(client, headers_every={"sepolia": 1})
    pair.world.services = replace(
        pair.world.services, settings=replace(pair.world.services.settings, headers_every={"sepolia": 5})
    )
    payment = pair.world.create_link()
    pair.first.mine(5 - len(pair.first.blocks) % 5)
    for node in pair.nodes:
        node.hides_logs = True
    log = pair.first.pay(payment.requests[0])
    assert int(log["blockNumber"], 16) % 5 == 0
    assert pair.tick() == 1
    assert pair.logged("check differs from a node")
    assert pair.paid(payment) == AMOUNT


# what nodes forge


@pytest.mark.parametrize("is_proved", [False, True])
def test_a_node_that_denies_a_payment_holds_the_network_unless_the_block_is_proved(client: Any, is_proved: bool) -> None:
    network = Network(client, nodes=3)
    if is_proved:
        network.end_trial()
    payment, liar = network.world.create_link(), network.nodes[2]
    network.first.pay(payment.requests[0])
    liar.read_payments = lambda numbers: {  # type: ignore[method-assign]
        number: BlockPayments(liar._facts(number), ()) for number in numbers
    }
    liar.read_receipts = lambda number, hashes: BlockReceipts(  # type: ignore[method-assign]
        liar.blocks[number].hash, dict.fromkeys(hashes, ())
    )
    if is_proved:
        network.tick()
        assert len(network.logged("node denies what is proved")) == 1
    else:
        with pytest.raises(NodesDisagree, match="contradict"):
            network.tick()
    assert network.paid(payment) == (AMOUNT if is_proved else 0)


def forged(chain: FakeChain, payable: PayableLink) -> dict[str, Any]:
    """A log of a payment in a block that does not have it."""
    log = chain.pay(payable.requests[0])
    chain.blocks[-1].logs.remove(log)
    chain.forged.append(log)
    return log


def test_a_payment_that_is_in_no_receipt_counts_for_nothing_after_the_trial(pair: Network) -> None:
    pair.end_trial()
    payment = pair.world.create_link()
    forged(pair.first, payment)
    assert pair.tick() == 0
    assert (pair.evidence, pair.paid(payment)) == (Evidence.PROVED_BY_BLOOM, 0)
    assert len(pair.logged("node lists other logs")) == 1


def test_a_log_that_is_listed_twice_counts_once_after_the_trial(pair: Network) -> None:
    pair.end_trial()
    payment = pair.world.create_link()
    log = pair.first.pay(payment.requests[0], amount=5)
    pair.first.forged += [{**log, "logIndex": "0x7"}, dict(log)]
    pair.tick()
    assert pair.paid(payment) == 5


def test_a_log_with_another_amount_counts_with_that_of_the_receipt_after_the_trial(pair: Network) -> None:
    pair.end_trial()
    payment = pair.world.create_link()
    log = pair.first.pay(payment.requests[0], amount=5)
    pair.first.forged.append({**log, "data": log["data"].replace(f"{5:064x}", f"{7:064x}")})
    pair.first.hides_logs = False
    pair.tick()
    assert pair.paid(payment) == 5


def test_a_forged_header_of_one_node_is_only_logged_in_the_trial_and_refused_after_it(pair: Network) -> None:
    pair.first.bad_headers = set(range(1000))
    pair.tick()
    assert pair.evidence is Evidence.CORROBORATED
    (reason,) = pair.logged("check differs from a node")
    assert "at node-0, but at node-1" in reason
    pair.first.bad_headers = set()
    pair.end_trial()
    pair.first.bad_headers = set(range(1000))
    with pytest.raises(InconsistentNode):
        pair.tick()
    pair.tick()
    assert pair.evidence in (Evidence.UNPROVED, Evidence.CORROBORATED), "by the other node, without an honest one beside it"


def test_a_check_that_fails_for_every_node_is_wrong_and_stops_nothing(pair: Network) -> None:
    pair.end_trial()
    for node in pair.nodes:
        node.bad_headers = set(range(1000))
    payment = pair.world.create_link()
    pair.first.pay(payment.requests[0])
    assert pair.tick() == 1
    assert (pair.evidence, pair.paid(payment)) == (Evidence.CORROBORATED, AMOUNT)
    assert len(pair.logged("check fails for every node")) == 1


def test_receipts_that_no_node_has_with_the_root_prove_nothing_and_the_block_is_corroborated(pair: Network) -> None:
    payment = pair.world.create_link()
    pair.first.pay(payment.requests[0])
    for node in pair.nodes:
        node.without_receipts = {len(pair.first.blocks) - 1}
    pair.tick()
    assert (pair.evidence, pair.paid(payment)) == (Evidence.CORROBORATED, AMOUNT)
    assert len(pair.logged("check differs from a node")) == 1


@pytest.mark.parametrize(("nodes", "evidence"), [(2, Evidence.CORROBORATED), (3, Evidence.PROVED_BY_RECEIPTS)])
def test_a_payment_is_proved_by_the_receipts_of_two_nodes_as_one_may_name_another_transaction(
    client: Any, nodes: int, evidence: Evidence
) -> None:
    network = Network(client, nodes=nodes)
    payment = network.world.create_link()
    network.first.pay(payment.requests[0])
    network.first.without_receipts = {len(network.first.blocks) - 1}
    network.tick()
    assert (network.evidence, network.paid(payment)) == (evidence, AMOUNT)


def test_receipts_of_a_network_of_which_none_were_recorded_are_no_contradiction(client: Any) -> None:
    """Of matic there are none since a fork that puts another kind of receipt into the root."""
    pair = Network(client)
    facts = require_network("sepolia")
    policy = replace(facts.absence, receipts_recorded_below=0)
    pair.world.metrics.taken(CHECKS_NOT_RUN)
    payment = pair.world.create_link()
    pair.first.pay(payment.requests[0])
    pair.first.mine(2)
    for node in pair.nodes:
        node.without_receipts = set(range(1000))
    (node, _), blocks = one_node(pair.world.services.chains.of("sepolia"), False), BlockRange(10, 12)
    known = weigh(pair.world.services, node, policy, pair.cursor, blocks, node.read_range(blocks, None), FOREVER)
    assert known.evidence is Evidence.CORROBORATED
    assert pair.world.metrics.taken(CHECKS_NOT_RUN) == {"sepolia": [1]}
    assert not pair.logged("check differs from a node")


FOREVER = datetime(2100, 1, 1, tzinfo=UTC)


# second readings


def test_what_is_proved_is_not_read_again(pair: Network) -> None:
    for _ in range(4):
        pair.tick()
    pair.world.advance(7 * 3600)
    pair.tick(0)
    reads = list[int]()
    for node in pair.nodes:
        node.before_reading = lambda: reads.append(1)
    for _ in range(3):
        pair.world.advance(7 * 3600)
        pair.tick()
    assert len(reads) == 3, "new blocks alone"


def test_old_blocks_that_no_node_proves_hold_up_no_second_reading_and_are_forgotten(pair: Network) -> None:
    pair.second.is_down = True
    pair.tick()
    pair.second.is_down, old, again = False, pair.cursor.scanned_to, list[int]()

    def refusing(node: FakeChain) -> Any:
        def read_range(blocks: BlockRange, after: Any, headers: Any = (), *others: Any) -> Any:
            if blocks.last > old:
                return FakeChain.read_range(node, blocks, after, headers, *others)
            if headers:
                raise ChainUnavailable("these blocks are gone")
            again.append(blocks.first)
            return FakeChain.read_range(node, blocks, after)

        return read_range

    for node in pair.nodes:
        node.read_range = refusing(node)  # type: ignore[method-assign]
    pair.world.advance(601)
    with pytest.raises(ChainUnavailable, match="gone"):
        pair.tick()
    for _ in range(3):
        pair.world.advance(601)
        pair.tick()
    assert again, "it was read again all the same"
    pair.world.advance(FORGOTTEN_AFTER.total_seconds())
    for _ in range(2):
        pair.tick()
    assert pair.cursor.weak == ()


def test_totals_of_proved_payments_are_compared_after_six_hours(pair: Network) -> None:
    payment = pair.world.create_link()
    pair.first.pay(payment.requests[0])
    for _ in range(3):
        pair.tick()
    asked = list[str]()
    for _ in range(3):
        pair.world.advance(6 * 3600 + 1)
        pair.first.mine(2)
        scanning.scan(pair.world.services, pair.name)
        messages = [json.loads(each.body) for each in pair.world.queue.messages if each.queue.endswith("-recordings")]
        asked += [payable for each in messages if each.get("reconcile") for payable in each["bills"]]
        pair.world.record()
    assert asked == [payment.link.token]


# the policy


def test_a_network_that_moves_on_with_corroboration_waits_for_another_node(client: Any) -> None:
    pair = Network(client, scan_waits=("sepolia",))
    before = pair.cursor.scanned_to
    pair.second.is_down = True
    with pytest.raises(ChainUnavailable, match="lists the same logs"):
        pair.tick()
    assert pair.cursor.scanned_to == before
    pair.second.is_down = False
    pair.world.advance(301)
    pair.tick()
    assert pair.cursor.scanned_to > before


def test_such_a_network_reads_on_in_smaller_ranges_if_another_node_refuses_one(client: Any) -> None:
    pair = Network(client, scan_waits=("sepolia",), headers_every={"sepolia": 0})
    pair.second.largest_range = 3
    before = pair.cursor.scanned_to
    pair.tick(20)
    assert (pair.cursor.scanned_to, pair.evidence) == (before + 20, Evidence.CORROBORATED)


@pytest.mark.parametrize("is_wrong", [False, True])
def test_such_a_network_reads_on_when_a_new_check_differs_from_one_node_or_from_all(client: Any, is_wrong: bool) -> None:
    pair = Network(client, scan_waits=("sepolia",))
    payment = pair.world.create_link()
    pair.first.hides_logs, pair.second.hides_logs = True, is_wrong
    pair.first.pay(payment.requests[0])
    before = pair.cursor.scanned_to
    assert pair.tick() == 1
    assert (pair.cursor.scanned_to, pair.evidence) == (before + 3, Evidence.CORROBORATED)


@pytest.mark.parametrize(("nodes", "evidence"), [(1, Evidence.UNPROVED), (2, Evidence.CORROBORATED)])
def test_what_a_new_check_contradicts_is_corroborated_by_the_lists_of_two_nodes_alone(
    pair: Network, nodes: int, evidence: Evidence
) -> None:
    of_nobody = forged(pair.first, pair.world.create_link())
    of_nobody["topics"] = [of_nobody["topics"][0], "0x" + "ab" * 32]
    for node in pair.nodes[:nodes]:
        node.forged = [of_nobody]
    pair.tick()
    assert pair.evidence is evidence
    assert pair.logged("check differs from a node")


def test_a_setting_says_of_which_blocks_headers_are_read(client: Any) -> None:
    pair = Network(client, headers_every={"sepolia": 0})
    pair.tick()
    assert pair.evidence is Evidence.CORROBORATED


@pytest.mark.parametrize("accepted", [(), ("sepolia",)])
def test_blocks_that_are_unproved_for_an_hour_are_told_unless_the_operator_accepts_one_node(
    client: Any, accepted: tuple[str, ...]
) -> None:
    alone = Network(client, nodes=1, unproved_accepted=accepted)
    alone.tick()
    alone.world.advance(3599)
    start_scans(alone.world.services)
    assert "unproved for an hour" not in alone.stream.getvalue()
    alone.world.advance(2)
    start_scans(alone.world.services)
    assert ("blocks unproved for an hour" in alone.stream.getvalue()) is (not accepted)
    (status,) = scanning.status(alone.world.services)
    assert status.evidence is Evidence.UNPROVED
    assert status.unproved_blocks > 0
    assert status.unproved_since is not None and alone.world.clock() - status.unproved_since > timedelta(hours=1)
