"""A Safe Transaction Service in memory: it answers what `SafeService` answers."""

from chalicelib.chain.safe_service import Proposal, SafeServiceUnavailable


class FakeSafes:
    """`known` holds what the service was told, by (network, safeTxHash); it may be down, or not be there at all."""

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
