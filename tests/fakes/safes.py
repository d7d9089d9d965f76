"""A Safe Transaction Service in memory, with the methods of `SafeService`."""

from chalicelib.chains.nodes.safes.service import Proposal, SafeServiceUnavailable


class FakeSafes:
    """`known` are the proposals by (network, safeTxHash). `is_down`: reads fail; not `is_there`: serves no network."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, str], Proposal] = {}
        self.is_down = False
        self.is_there = True

    def serves(self, network: str) -> bool:
        return self.is_there

    def transaction(self, network: str, safe_tx_hash: str) -> Proposal | None:
        if self.is_down:
            raise SafeServiceUnavailable("The Safe Transaction Service does not answer")
        return self.known.get((network, safe_tx_hash))
