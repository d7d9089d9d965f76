"""Stored records: payee destinations, and the nonces that wallets sign."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Self

from chalicelib.base.frozen import frozen
from chalicelib.base.records import IDENTITY, SESSIONS, KeyPattern, Record
from chalicelib.chains.catalogue.interop import Destination

NONCE_RETENTION = timedelta(days=15)


@frozen
class ActiveDestination(Record):
    """Points to the active payee destination of a wallet, which has at most one."""

    KEY = KeyPattern(IDENTITY, "WALLET#{wallet_address}", "DESTINATION")

    wallet_address: str
    account_id: str
    record_id: str


class Action(StrEnum):
    ADD = "add"
    DEACTIVATE = "deactivate"


@frozen
class PayeeDestination(Record):
    """The token and chain in which a wallet is paid. Addresses are in canonical form (EIP-55, or base58 on Tron).

    `account_id` is the account that made it: that of the client id it was signed for, or that of the wallet.
    `access_mode` is the mode of its access policy, if it has one: always `off`, as there is no screening.
    """

    KEY = KeyPattern(IDENTITY, "ACCOUNT#{account_id}", "DESTINATION#{record_id}")
    RESOURCE = "payee_destination"
    NAMED_BY = ("wallet_address", "chain_id", "token_address")
    SHOWN = (*NAMED_BY, "is_active", "client_id")

    record_id: str
    destination_id: str
    account_id: str
    wallet_address: str
    token_address: str
    chain_id: int
    is_active: bool
    created_at: datetime
    client_id: str | None = None
    access_mode: str | None = None

    @property
    def route(self) -> Destination:
        return Destination(self.wallet_address, self.chain_id, self.token_address)

    def redirects(self, before: Self | None) -> bool:
        """A route that is new, another one, or active again."""
        return self.is_active and (before is None or not before.is_active or self.route != before.route)


@frozen
class SigningNonce(Record):
    """A nonce to be signed for a client id, wallet, token, chain and action. It can be used once, for five minutes.

    It is kept for as long as the change may wait for which it was used (accounts/changes).
    """

    KEY = KeyPattern(SESSIONS, "NONCE#{nonce:.64}", "NONCE")

    nonce: str
    client_id: str
    wallet_address: str
    token_address: str
    chain_id: int
    action: Action
    expires_at: datetime

    @property
    def vanishes_at(self) -> datetime:
        """15 days after it expires."""
        return self.expires_at + NONCE_RETENTION

    @property
    def route(self) -> Destination:
        return Destination(self.wallet_address, self.chain_id, self.token_address)
