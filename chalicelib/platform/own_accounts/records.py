"""The stored record of the service's own accounts."""

from collections.abc import Collection

from chalicelib.base.frozen import frozen
from chalicelib.base.records import PAYMENTS, KeyPattern, Record


@frozen
class Sender:
    """An account of the service on a network."""

    network: str
    address: str


@frozen
class Senders(Record):
    """All accounts that the service has had, whose transactions are followed also after their key was replaced."""

    KEY = KeyPattern(PAYMENTS, "RELAYERS", "SENDERS")

    accounts: tuple[Sender, ...] = ()

    def others(self, network: str, present: Collection[str]) -> tuple[str, ...]:
        """The addresses on a network other than the present ones."""
        return tuple(each.address for each in self.accounts if each.network == network and each.address not in present)
