"""Stored records: the address of a request for plain transfers, and what finds it among the transfers of a network."""

from datetime import datetime, timedelta

from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.base.records import PAYMENTS, KeyPattern, Record

KEPT_FOR = timedelta(days=8)
"""After it is watched: longer than the log has a transfer of it (scanning/records.py), as a fork reads that again."""


@frozen
class PlainTransfer:
    """The address of a request for plain transfers of its token (chains/calldata/plain_transfers.py).

    `fee_amount` is in base units of the token, and part of every payment from the address; with none, `fee_address` is
    None. Until `watched_until` the service looks for transfers from the address.
    `is_public` if a client id that was sent alone created it. `arrived` is what was at the address when it was read
    last, in base units of the token: it counts for nothing, and has been paid out by nobody yet.
    """

    address: str
    watched_until: datetime
    fee_amount: BaseUnits = BaseUnits(0)
    fee_address: str | None = None
    is_public: bool = False
    arrived: BaseUnits = BaseUnits(0)


@frozen
class WatchedAddress(Record):
    """An address whose transfers are read with the blocks of its network, and which request it belongs to.

    Addresses are as logs write them. `topic` is keccak256 of the request's payment reference.
    How many there are is bounded for each account, and more so for those that `is_public`. `arrived` is that of the
    request's PlainTransfer.
    """

    KEY = KeyPattern(PAYMENTS, "WATCHED#{network}", "{address}")

    network: str
    address: str
    topic: str
    token_address: str
    payee: str
    watched_until: datetime
    account_id: str = ""
    is_public: bool = False
    arrived: BaseUnits = BaseUnits(0)

    @property
    def vanishes_at(self) -> datetime:
        """8 days after it is watched."""
        return self.watched_until + KEPT_FOR
