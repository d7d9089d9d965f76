"""A Safe Transaction Service in memory, with the methods of `SafeService`."""

from chalicelib.chains.nodes.safes.records import Proposal, SafeState
from chalicelib.chains.nodes.safes.service import SafeServiceUnavailable


class FakeSafes:
    """`known` are the proposals by (network, safeTxHash), `safes` the owners and nonces of Safes by (network, address). `is_down`: reads fail; not `is_there`: serves no network."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, str], Proposal] = {}
        self.safes: dict[tuple[str, str], tuple[tuple[str, ...], int]] = {}
        self.signatures: dict[str, dict[str, bytes]] = {}
        self.is_down = False
        self.is_there = True

    def serves(self, network: str) -> bool:
        return self.is_there

    def transaction(self, network: str, safe_tx_hash: str) -> Proposal | None:
        if self.is_down:
            raise SafeServiceUnavailable("The Safe Transaction Service does not answer")
        return self.known.get((network, safe_tx_hash))

    def safe(self, network: str, address: str) -> SafeState | None:
        if self.is_down:
            raise SafeServiceUnavailable("The Safe Transaction Service does not answer")
        found = self.safes.get((network, address))
        mine = [each for (on, _), each in self.known.items() if on == network and each.safe == address]
        return found and SafeState(*found, tuple(mine))

    def propose(self, network: str, proposal: Proposal, safe_tx_hash: str, owner: str, signature: bytes) -> None:
        self.known[network, safe_tx_hash] = proposal
        self.signatures[safe_tx_hash] = {**self.signatures.get(safe_tx_hash, {}), owner: signature}
