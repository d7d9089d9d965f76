"""A node in front of a chain in memory that answers any call as it likes: in the right form, and not what is so."""

import re
from collections.abc import Mapping
from copy import copy
from dataclasses import fields, is_dataclass, replace
from datetime import datetime, timedelta
from random import Random
from typing import Any

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.money import BaseUnits
from chalicelib.chains.nodes.readings import Receipt
from chalicelib.chains.nodes.rpc.receipts import logs_in
from tests.fakes.chain import Block, by_transaction
from tests.fakes.mempool import GAS

OTHER, OTHER_HASH = "0x8ba1f109551bD432803012645Ac136ddd64DBA72", "0x" + "fe" * 32
_SHIFTS = tuple(timedelta(seconds=each) for each in (-8 * 86400, -3600, -1, 1, 3600, 8 * 86400))
_OF_ANY_LENGTH = ("fills", "read_plain_transfers", "returns", "used_nonces")
"""The methods that return as many values as there are; others return one for each that is asked for."""


class AtWill:
    """A `Chain` that lies, each time that a test calls `lie`, about other things, and until then about the same ones:
    whoever asks again gets the same answer. After `stop` it is honest.

    It changes what is there, leaves it out, repeats what was true of something else, or does not answer; or it has the
    newest blocks on a branch of its own, with some of their logs, and says what follows from that.
    """

    def __init__(self, chain: Any, random: Random) -> None:
        self.chain, self._random, self._phase, self._own_from = chain, random, 0.0, 0
        self._answers = dict[str, Any]()

    def lie(self) -> None:
        self._phase, depth = self._random.random(), self._random.choice((0, 0, 0, 3, 10))
        self._own_from = max(len(self.chain.blocks) - depth, 1) if depth else 0

    def stop(self) -> None:
        self._phase = self._own_from = 0

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.chain, name)
        if not callable(value):
            return value
        if self._own_from:
            return getattr(self._on_own_branch(), name)

        def call(*args: Any, **kwargs: Any) -> Any:
            true = value(*args, **kwargs)
            about = Random(f"{self._phase} {name}")
            if self._phase and about.random() < 0.5:
                if about.random() < 0.1:
                    raise ChainUnavailable("does not answer")
                return self._altered(name, args, true, Random(f"{self._phase} {name} {args} {kwargs}"))
            if true is not None:
                self._answers[name] = true
            return true

        return call

    def _on_own_branch(self) -> Any:
        """The chain with other blocks from `_own_from` on."""
        forged = copy(self.chain)
        true = self.chain.blocks
        forged.blocks = [*true[: self._own_from], *map(self._own_block, true[self._own_from :])]
        return forged

    def _own_block(self, true: Block) -> Block:
        own, about = f"0x{true.number:064x}", Random(f"{self._phase} {true.number}")
        logs = [{**log, "blockHash": own} for log in true.logs if about.random() < 0.3]
        return Block(true.number, own, true.time, logs)

    def _altered(self, name: str, args: Any, true: Any, random: Random) -> Any:
        if name == "receipts_of":
            return self._receipts(args[0], true, random)
        if name == "find_receipts":
            kept = [log for log in logs_in(true) if random.random() < 0.5]
            return by_transaction(args[0], altered(tuple(kept), random))
        if true is None:
            return self._answers.get(name)
        if name in _OF_ANY_LENGTH:
            true = _shortened(true, random)
        return altered(true, random)

    def _receipts(self, tx_hashes: Any, true: Any, random: Random) -> dict[str, Receipt]:
        """Of each transaction none, or one that says whether it has succeeded."""
        said = dict[str, Receipt]()
        for each in tx_hashes:
            block = self.chain.blocks[random.choice((-1, -4, -12))]
            receipt = true.get(each) or Receipt(each, block.number, block.hash, True, BaseUnits(GAS))
            if random.random() < 0.7:
                said[each] = replace(receipt, success=random.random() < 0.5)
        return said


def altered(value: Any, random: Random) -> Any:
    """Another value of the same kind and form; the same if there is none."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, datetime):
        return value + random.choice(_SHIFTS)
    if isinstance(value, int):
        return max(value + random.choice((-value, -1, 1, 100, 10**15)), 0)
    if isinstance(value, str):
        return _altered_text(value)
    if isinstance(value, Mapping):
        return {key: altered(each, random) if random.random() < 0.5 else each for key, each in value.items()}
    if isinstance(value, tuple):
        return tuple(altered(each, random) if random.random() < 0.7 else each for each in value)
    if is_dataclass(value):
        said = {each.name: getattr(value, each.name) for each in fields(value)}
        there = [name for name, each in said.items() if each is not None]
        names = random.sample(there, min(random.choice((1, 1, 2)), len(there)))
        return replace(value, **{name: altered(_shortened(said[name], random), random) for name in names})
    return value


def _shortened(value: Any, random: Random) -> Any:
    return tuple(each for each in value if random.random() < 0.5) if isinstance(value, tuple) else value


def _altered_text(text: str) -> str:
    if re.fullmatch("0x[0-9a-fA-F]{40}", text):
        return OTHER
    if re.fullmatch("0x[0-9a-f]{64}", text):
        return OTHER_HASH
    return text[:-1] + ("1" if text[-1] == "0" else "0") if re.fullmatch("0x[0-9a-f]{65,}", text) else text
