"""Virtual nodes: what they answer is read by the code of production as a node's answer is."""

import pytest

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.networks import ALL_NETWORKS
from chalicelib.chains.nodes.history.logs import BlockRange, Checkpoint
from chalicelib.payments.links import flows as links
from chalicelib.platform.services import Services
from chalicelib.sandbox import flows
from chalicelib.sandbox.flows import Wanted
from chalicelib.sandbox.opening import open_sandbox
from chalicelib.sandbox.records import GENESIS_HEAD
from tests.fakes.world import WALLET, World, draft

NETWORKS = [each.name for each in ALL_NETWORKS]


@pytest.fixture
def inside(world: World) -> Services:
    return open_sandbox(world.services, world.account_id)


@pytest.mark.parametrize("network", NETWORKS)
def test_a_chain_without_payments_has_its_first_blocks(inside: Services, network: str) -> None:
    chain = inside.chains.of(network)
    assert chain.head() == GENESIS_HEAD
    hashes = chain.block_hashes([1, GENESIS_HEAD, GENESIS_HEAD + 1])
    assert hashes[1] != hashes[GENESIS_HEAD] and hashes[GENESIS_HEAD + 1] is None
    assert chain.block_facts([5])[5].time == inside.clock()


def test_a_network_that_is_none_has_no_chain(inside: Services) -> None:
    assert set(inside.chains.networks) == set(NETWORKS)
    with pytest.raises(ChainUnavailable, match="no virtual chain"):
        inside.chains.of("nowhere")


def test_logs_and_receipts_are_those_of_the_same_block(world: World, inside: Services) -> None:
    paid = flows.pay(inside, world.account_id, links.create(inside, world.owner, draft()), Wanted(payer=WALLET))
    chain, place = inside.chains.of("sepolia"), BlockRange(paid.block_number, paid.block_number)
    reading = chain.read_range(place, None)
    (log,) = reading.logs
    receipt = chain.find_receipts([paid.tx_hash])[paid.tx_hash]
    assert receipt is not None and log in receipt["logs"] and len(receipt["logs"]) == 3, "two Transfers, one event"
    assert receipt["blockHash"] == reading.last.hash == chain.block_hashes([paid.block_number])[paid.block_number]
    assert chain.read_range(BlockRange(1, paid.block_number - 1), None).logs == ()
    before = chain.block_hashes([paid.block_number - 1])[paid.block_number - 1]
    assert before is not None
    assert chain.read_range(place, Checkpoint(paid.block_number - 1, before)).logs == (log,)
    assert chain.read_receipts(paid.block_number, [paid.tx_hash]).all_logs == tuple(receipt["logs"])
    assert chain.find_receipts(["0x" + "ab" * 32]) == {"0x" + "ab" * 32: None}


def test_the_chains_of_two_accounts_are_not_the_same(world: World, inside: Services) -> None:
    other = open_sandbox(world.services, "other")
    flows.mine_blocks(inside, world.account_id, "base", 3)
    assert [each.chains.of("base").head() for each in (inside, other)] == [GENESIS_HEAD + 3, GENESIS_HEAD]
    assert inside.chains.of("base").block_hashes([7]) != other.chains.of("base").block_hashes([7])


@pytest.mark.parametrize("network", ["sepolia", "tron"])
def test_a_wallet_has_plenty_and_nothing_fails(inside: Services, network: str) -> None:
    chain = inside.chains.of(network)
    token = "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238"
    reading = chain.read_wallet(WALLET, [token], WALLET)
    assert reading.tokens[token].balance > 10**29 and reading.tokens[token].allowance == 0
    sent = [(WALLET, Transaction(WALLET, "0x", 1))]
    assert chain.simulate(sent).steps[0].success and chain.which_revert(WALLET, [sent[0][1]]) == (False,)
    assert (chain.read_batch_fee(), chain.has_code(WALLET), reading.native_balance) == (0, False, BaseUnits(10**30))


def test_what_a_virtual_node_does_not_know_is_as_a_node_that_lacks_the_method(inside: Services) -> None:
    with pytest.raises(ChainUnavailable):
        inside.chains.evm("base").read_plain_address(WALLET, None)
    with pytest.raises(ChainUnavailable):
        inside.chains.tron().read_resources(WALLET, [])
    assert inside.chains.evm("base").sent_transaction("0x" + "ab" * 32) is None
