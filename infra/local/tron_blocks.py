"""The blocks of a local Tron chain: those of anvil, with the transactions that Tron knows by other ids."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.local.chain import Chain
from infra.local.tron_transactions import DELEGATE, Call, Transaction

SOLID_AFTER = 2


@dataclass(frozen=True)
class Charge:
    """What a transaction costs, in sun. `gas` is what its call gets in the EVM if it ends out of energy."""

    fee: int
    gas: int | None = None


class Ledger:
    """Maps Tron transactions to anvil's; stored in a file, if one is given, like the chain's state."""

    def __init__(self, file: Path | None) -> None:
        self._file, self._lock = file, threading.Lock()
        self.charges = dict[str, Charge]()
        self._by_id, self._by_hash = dict[str, tuple[str, Transaction]](), dict[str, str]()
        for line in file.read_text().splitlines() if file and file.exists() else ():
            stored = json.loads(line)
            signatures = tuple(bytes.fromhex(each) for each in stored["signatures"])
            raw = bytes.fromhex(stored["raw"])
            transaction = Transaction(Call.of_bytes(raw), raw, signatures)
            self.charges[transaction.id] = Charge(stored.get("fee", 0), stored.get("gas"))
            self._add(stored["hash"], transaction)

    def send(self, transaction: Transaction, charge: Charge, broadcast: Callable[[], str]) -> None:
        """Calls `broadcast` and stores the hash that it returns; readers wait until then."""
        with self._lock:
            hash_ = broadcast()
            if self._file:
                signatures = [each.hex() for each in transaction.signatures]
                entry: dict[str, Any] = {"hash": hash_, "raw": transaction.raw.hex(), "signatures": signatures}
                entry |= {"fee": charge.fee, "gas": charge.gas}
                with self._file.open("a") as file:
                    file.write(json.dumps(entry) + "\n")
            self.charges[transaction.id] = charge
            self._add(hash_, transaction)

    def find(self, id: str) -> tuple[str, Transaction] | None:
        """Returns (anvil's hash, the transaction) of an id, also if a reorganisation has removed it from the chain."""
        with self._lock:
            entry = self._by_id.get(id)
            return entry if entry and self._by_hash[entry[0]] == id else None

    def id_of(self, hash_: str) -> str:
        """Returns the id, without 0x, of anvil's hash; the hash itself if it is not of a Tron transaction."""
        with self._lock:
            return self._by_hash.get(hash_, hash_[2:])

    def _add(self, hash_: str, transaction: Transaction) -> None:
        self._by_id[transaction.id] = hash_, transaction
        self._by_hash[hash_] = transaction.id


class TronBlocks:
    """Reads blocks and receipts of `chain` as a Tron node counts them."""

    def __init__(self, chain: Chain, ledger: Ledger) -> None:
        self.chain, self.ledger = chain, ledger
        self.delegations = list[Transaction]()

    def head(self, solid: bool = False) -> int:
        newest = int(self.chain.rpc("eth_blockNumber"), 16)
        return max(0, newest - SOLID_AFTER) if solid else newest

    def block_at(self, number: int) -> dict[str, Any] | None:
        block: dict[str, Any] | None = self.chain.rpc("eth_getBlockByNumber", hex(number), False)
        return block

    def receipt(self, id: str, solid: bool = False) -> dict[str, Any] | None:
        """Returns anvil's receipt of a transaction, or None if it is in no block (with `solid`: no solid block)."""
        entry = self.ledger.find(id)
        receipt: dict[str, Any] | None = entry and self.chain.rpc("eth_getTransactionReceipt", entry[0])
        return None if receipt and int(receipt["blockNumber"], 16) > self.head(solid) else receipt

    def sum_delegated(self, owner: bytes, receiver: bytes, solid: bool = False) -> list[int]:
        """Returns the sun of bandwidth and of energy that an account delegates, by transactions in (solid) blocks."""
        sun = [0, 0]
        for each in self.delegations:
            call = each.call
            if (call.owner, call.contract) == (owner, receiver) and self.receipt(each.id, solid):
                sun[call.resource] += call.call_value if call.type == DELEGATE else -call.call_value
        return sun
