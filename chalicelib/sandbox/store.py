"""Reads of a sandbox: its clock, its virtual chains, and their blocks with transactions."""

from collections.abc import Iterable

from chalicelib.base.records import KeyRange
from chalicelib.platform.storage.store import Store
from chalicelib.sandbox.records import OperationCount, Sandbox, VirtualBlock, VirtualChain, VirtualTransaction


def sandbox(store: Store) -> Sandbox:
    """The sandbox's clock; a new record (version 0) while nobody has set it. One read."""
    return store.get(Sandbox, Sandbox.KEY.of()) or Sandbox()


def count(store: Store, counter: OperationCount, limit: int) -> int | None:
    """Counts an operation of a day; None if that would exceed the limit. One write."""
    return store.count(counter, limit)


def chain(store: Store, network: str) -> VirtualChain | None:
    """The virtual chain of a network; None before it has a block. One read."""
    return store.get(VirtualChain, VirtualChain.KEY.of(network=network))


def chains(store: Store, networks: Iterable[str]) -> list[VirtualChain]:
    """The virtual chains that exist, of these networks. One read."""
    return list(store.get_many({VirtualChain.KEY.of(network=each): VirtualChain for each in networks}).values())


def blocks(store: Store, network: str, numbers: Iterable[int]) -> dict[int, VirtualBlock]:
    """Those of the blocks that have a transaction, by number. One read for a hundred."""
    of = VirtualBlock.KEY.of
    found = store.get_many({of(network=network, number=each): VirtualBlock for each in numbers})
    return {each.number: each for each in found.values()}


def blocks_between(store: Store, network: str, first: int, last: int) -> tuple[VirtualBlock, ...]:
    """The blocks with a transaction from `first` to `last`, both included, in ascending order. One query per MB."""
    ends = [VirtualBlock.KEY.of(network=network, number=each) for each in (first, last)]
    return store.query(VirtualBlock, KeyRange(ends[0].table, ends[0].pk, ends[0].sk, ends[1].sk))


def places(store: Store, network: str, tx_hashes: Iterable[str]) -> dict[str, VirtualTransaction]:
    """The transactions that there are or were, by hash. One read for a hundred."""
    of = VirtualTransaction.KEY.of
    found = store.get_many({of(network=network, tx_hash=each): VirtualTransaction for each in tx_hashes})
    return {each.tx_hash: each for each in found.values()}
