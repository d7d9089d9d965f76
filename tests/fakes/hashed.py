"""Empty blocks with real headers: hashes, links and blooms as the checks of headers expect them."""

import random
from collections.abc import Callable
from datetime import datetime
from typing import Any

from chalicelib.base.keccak import keccak256
from chalicelib.chains.proofs.rlp import encode, integer, list_root
from tests.fakes.node import TimedChain

_ZERO = bytes(32)


class HashedChain(TimedChain):
    """Each block has a header in the form of base fees (EIP-1559). `fill` is which part of the bits of its bloom is set,
    as other contracts' logs set them."""

    def __init__(self, network: str, clock: Callable[[], datetime], fill: float = 0, seed: int = 0) -> None:
        self.fill, self._random = fill, random.Random(seed)
        self.headers: list[dict[str, Any]] = []
        super().__init__(network, clock, seed)

    def mine(self, count: int = 1) -> None:
        for _ in range(count):
            super().mine(1)
            self.headers.append(self._header(len(self.blocks) - 1))
            self.blocks[-1].hash = self.headers[-1]["hash"]

    def header(self, number: int) -> dict[str, Any]:
        return self.headers[number]

    def _header(self, number: int) -> dict[str, Any]:
        parent = bytes.fromhex(self.headers[number - 1]["hash"][2:]) if number else _ZERO
        bits = sum(1 << place for place in range(2048) if self._random.random() < self.fill)
        raw = {
            "parentHash": parent, "sha3Uncles": _ZERO, "miner": bytes(20), "stateRoot": _ZERO,
            "transactionsRoot": list_root([]), "receiptsRoot": list_root([]), "logsBloom": bits.to_bytes(256, "big"),
        }  # fmt: skip
        seconds = int(self.times[number].timestamp())
        numbers = {"difficulty": 0, "number": number, "gasLimit": 30_000_000, "gasUsed": 0, "timestamp": seconds}
        ending = {"extraData": b"", "mixHash": _ZERO, "nonce": bytes(8)}
        fields = [*raw.values(), *map(integer, numbers.values()), *ending.values(), integer(1)]
        return {
            **{name: "0x" + value.hex() for name, value in {**raw, **ending}.items()},
            **{name: hex(value) for name, value in numbers.items()},
            "baseFeePerGas": "0x1",
            "hash": "0x" + keccak256(encode(fields)).hex(),
            "transactions": [],
        }
