"""The service's own transactions on a real chain, signed by KMS: how often they are executed is counted there."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.base.addresses import address_bytes
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.recurring import trigger
from chalicelib.chains.nodes.chains import Chains
from chalicelib.chains.nodes.rpc.jsonrpc import NodeTimeout
from chalicelib.platform.services import Services
from chalicelib.platform.storage.secrets import SigningKeys
from chalicelib.platform.storage.store import Store
from chalicelib.relayer import flows as relayer_flows
from chalicelib.relayer.flows import Outcome
from chalicelib.relayer.jobs import follow_relayed
from chalicelib.relayer.keys.signer import signer_of
from chalicelib.relayer.records import CallStatus
from chalicelib.relayer.rules import Call
from chalicelib.relayer.transactions import sign
from infra.local.chain import Chain
from infra.local.cloud import Cloud
from tests.fakes.world import PREFIX, World, in_process_aws
from tests.onchain.conftest import Nodes
from tests.onchain.payer import FUSDC
from tests.onchain.schedules import Subscriber
from tests.relayer.transactions import transaction
from tests.support.signing import keys_in

HINT = '{"network": "sepolia"}'
SETTINGS: dict[str, Any] = {"relayer_keys": {"sepolia": "kms"}, "relayer_stuck_seconds": 60}


class Relayer:
    """A deployment whose own account has coins and tokens, on a chain that mines only when it is told to."""

    def __init__(self, world: World, services: Services, chain: Chain) -> None:
        self.world, self.services, self.chain = world, services, chain
        self.address = relayer_flows.account_address(services, "sepolia")
        chain.fund_native(self.address, 10**20)
        chain.fund_token(self.address, FUSDC, 10**9)
        chain.rpc("evm_setAutomine", False)
        chain.rpc("anvil_setNextBlockBaseFeePerGas", hex(10**9))  # a snapshot does not keep it

    def call(self, number: int, **changes: Any) -> Call:
        """A transfer of one unit of a token to an address of its own, so that its balance counts the executions."""
        data = "0xa9059cbb" + address_bytes(receiver(number)).rjust(32, b"\0").hex() + f"{1:064x}"
        return Call(**{"account_id": "acct", "key": f"transfer/{number}", "network": "sepolia", "to": FUSDC, "data": data, **changes})

    def submit(self, *calls: Call) -> list[str]:
        return [each.status.value for each in relayer_flows.submit(self.services, calls)]

    def look(self, seconds: float = 31, blocks: int = 0) -> None:
        """Mines blocks, lets time pass, and checks the account."""
        if blocks:
            self.chain.mine(blocks)
        self.world.advance(seconds)
        follow_relayed(self.services, HINT)

    def outcome(self, call: Call) -> Outcome:
        found = relayer_flows.outcome(self.services, call.key)
        assert found is not None
        return found

    def executions(self, number: int) -> int:
        return self.chain.token_balance(FUSDC, receiver(number))

    def sent_count(self) -> int:
        """How many transactions of the account are in blocks."""
        return int(self.chain.rpc("eth_getTransactionCount", self.address, "latest"), 16)

    def use_nonce(self, nonce: int) -> None:
        """Somebody else with the same key sends another transaction."""
        fees = {"max_fee": BaseUnits(10**11), "tip": BaseUnits(10**9)}
        other = replace(transaction(nonce, to=receiver(9), data="0x", value=BaseUnits(1), **fees), sender=self.address)
        signer = signer_of(self.services, "sepolia")
        self.chain.rpc("eth_sendRawTransaction", sign(other, signer).raw)

    def drop(self) -> None:
        """Empties the node's pool of waiting transactions."""
        self.chain.rpc("anvil_dropAllTransactions")


def receiver(number: int) -> str:
    return f"0x{0xABC0000000000000000000000000000000000000 + number:040x}"


@pytest.fixture(scope="module")
def keys(cloud: Cloud) -> SigningKeys:
    return keys_in(cloud)


@pytest.fixture
def relayer(chain: Chain, keys: SigningKeys) -> Iterator[Relayer]:
    with in_process_aws() as client:
        world = World(client, chains=Chains(Nodes({"sepolia": chain.url})), **SETTINGS)
        yield Relayer(world, replace(world.services, signing_keys=keys), chain)
        chain.rpc("evm_setAutomine", True)


def assert_executed_once(relayer: Relayer, *numbers: int) -> None:
    assert [relayer.executions(number) for number in numbers] == [1] * len(numbers)
    assert relayer.sent_count() == len(numbers)
    for number in numbers:
        outcome = relayer.outcome(relayer.call(number))
        receipt = relayer.chain.rpc("eth_getTransactionReceipt", outcome.tx_hash)
        assert outcome.status is CallStatus.SUCCEEDED
        assert outcome.block_number == int(receipt["blockNumber"], 16) and receipt["status"] == "0x1"


def test_calls_signed_by_kms_are_executed_in_their_order(relayer: Relayer) -> None:
    calls = [relayer.call(number) for number in range(10)]
    assert relayer.submit(*calls) == ["accepted"] * 10
    relayer.look(blocks=1)
    assert relayer.outcome(calls[0]).status is CallStatus.UNKNOWN, "one confirmation of two"
    relayer.look(blocks=1)
    assert_executed_once(relayer, *range(10))
    assert relayer.submit(*calls) == ["accepted"] * 10
    relayer.look(blocks=2)
    assert_executed_once(relayer, *range(10))


def test_a_time_out_after_the_node_took_the_transactions_executes_nothing_twice(relayer: Relayer) -> None:
    evm = relayer.services.chains.evm("sepolia")
    send = evm.send_raw

    def without_an_answer(signed: Any) -> Any:
        send(signed)
        raise NodeTimeout("takes too long")

    evm.send_raw = without_an_answer  # type: ignore[method-assign]
    assert relayer.submit(relayer.call(1), relayer.call(2)) == ["accepted"] * 2
    relayer.look()  # sends them again
    evm.send_raw = send  # type: ignore[method-assign]
    relayer.look(blocks=3)
    assert_executed_once(relayer, 1, 2)


def test_transactions_that_the_node_dropped_are_sent_again(relayer: Relayer) -> None:
    relayer.submit(relayer.call(1), relayer.call(2))
    relayer.drop()
    relayer.look(blocks=2)
    assert relayer.sent_count() == 0
    relayer.look(blocks=2)
    assert_executed_once(relayer, 1, 2)


def test_a_transaction_that_offers_too_little_is_replaced(relayer: Relayer) -> None:
    relayer.submit(relayer.call(1))
    relayer.chain.rpc("anvil_setNextBlockBaseFeePerGas", hex(20 * 10**9))
    relayer.look(seconds=61, blocks=1)
    assert relayer.sent_count() == 0
    relayer.look(blocks=2)
    assert_executed_once(relayer, 1)


def test_transactions_in_blocks_that_a_fork_removed_are_executed_on_the_other_branch(relayer: Relayer) -> None:
    before = relayer.chain.snapshot()
    relayer.submit(relayer.call(1), relayer.call(2))
    relayer.chain.mine(1)
    assert relayer.sent_count() == 2
    relayer.chain.revert(before)
    relayer.chain.rpc("evm_setAutomine", False)
    assert relayer.sent_count() == 0
    relayer.look()
    relayer.look(blocks=3)
    assert_executed_once(relayer, 1, 2)


def test_a_transaction_of_somebody_else_with_the_same_key_supersedes_the_call(relayer: Relayer) -> None:
    relayer.submit(relayer.call(1))
    relayer.drop()
    relayer.use_nonce(0)
    for _ in range(8):  # a search that takes long goes on at the next look
        relayer.look(blocks=3)
    assert relayer.outcome(relayer.call(1)).status is CallStatus.SUPERSEDED
    assert relayer.executions(1) == 0
    relayer.submit(relayer.call(2))
    relayer.look(blocks=3)
    assert relayer.outcome(relayer.call(2)).status is CallStatus.SUCCEEDED
    assert (relayer.executions(2), relayer.sent_count()) == (1, 2)


def test_a_transaction_of_the_account_that_its_key_has_not_signed_supersedes_nothing(relayer: Relayer) -> None:
    """As a node could invent one."""
    relayer.submit(relayer.call(1))
    relayer.drop()
    relayer.chain.send_as(relayer.address, {"to": receiver(9), "value": 1})
    for _ in range(60):
        relayer.look(blocks=1)
    assert relayer.sent_count() == 1
    assert relayer.outcome(relayer.call(1)).status is CallStatus.UNKNOWN


def scheduled(relayer: Relayer, **changes: Any) -> tuple[Subscriber, Call]:
    """The first payment of a schedule whose subscriber allows it."""
    relayer.chain.rpc("evm_setAutomine", True)
    relayer.chain.set_relayer(relayer.address)
    subscriber = Subscriber(relayer.chain)
    permit = subscriber.permit(**{"first_payment": subscriber.chain_time() - 60, **changes})
    made = trigger(permit, "sepolia", subscriber.sign(permit), 1, b"\1" * 8)
    relayer.chain.rpc("evm_setAutomine", False)
    return subscriber, Call("schedule/1/1", "sepolia", made.to, made.data, account_id="acct")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"first_payment": 2**31}, "the payment of the schedule is not due yet"),
        ({"deadline": 1}, "the schedule has expired"),
        ({"amount": 10**13}, "insufficient allowance"),
    ],
)
def test_a_call_that_the_contract_would_refuse_is_refused_in_words(
    relayer: Relayer, changes: dict[str, int], reason: str
) -> None:
    _, call = scheduled(relayer, **changes)
    (found,) = relayer_flows.submit(relayer.services, [call])
    assert found.status == "refused" and found.reason is not None and reason in found.reason
    assert relayer_flows.outcome(relayer.services, call.key) is None
    assert relayer.sent_count() == 0


def test_a_call_that_the_contract_refuses_later_is_reverted_once_with_the_reason(relayer: Relayer) -> None:
    """The subscriber takes the allowance back between the dry run and the block."""
    subscriber, call = scheduled(relayer)
    relayer.submit(call)
    relayer.drop()
    relayer.chain.rpc("evm_setAutomine", True)
    subscriber.allow(FUSDC, 0)
    relayer.chain.rpc("evm_setAutomine", False)
    relayer.look()
    relayer.look(blocks=3)
    outcome = relayer.outcome(call)
    assert outcome.status is CallStatus.REVERTED
    assert outcome.reason is not None and "insufficient allowance" in outcome.reason
    assert relayer.sent_count() == 1


def test_two_workers_on_a_real_table_execute_each_call_once(chain: Chain, cloud: Cloud, keys: SigningKeys) -> None:
    """DynamoDB of the local cloud, its KMS, and the chain, under threads that submit the same calls."""
    world = World(cloud.client("dynamodb"), chains=Chains(Nodes({"sepolia": chain.url})), **SETTINGS)

    def services() -> Services:
        store = Store(PREFIX, cloud.client("dynamodb"))
        chains: Any = Chains(Nodes({"sepolia": chain.url}))
        return replace(world.services, store=store, chains=chains, signing_keys=keys)

    relayer = Relayer(world, services(), chain)
    calls = [relayer.call(number) for number in range(40)]

    def work(order: Callable[[list[Call]], list[Call]]) -> None:
        own, mine = services(), order(calls)
        for start in range(0, len(mine), 10):
            relayer_flows.submit(own, mine[start : start + 10])
            follow_relayed(own, HINT)

    try:
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(work, [list, lambda found: found[::-1], lambda found: found[20:] + found[:20]]))
        for _ in range(4):
            relayer.look(seconds=61, blocks=2)
        assert_executed_once(relayer, *range(40))
    finally:
        chain.rpc("evm_setAutomine", True)
