"""Stored records: gasless payments, each signed by its payer, and the batches in which the service makes them."""

from datetime import UTC, datetime, timedelta
from enum import StrEnum

from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.base.records import PAYMENTS, KeyPattern, Record
from chalicelib.chains.calldata.tokens.erc3009 import Authorization

UNSIGNED_RETENTION, RETENTION = timedelta(hours=1), timedelta(days=90)
"""How long a gasless payment is kept after its deadline if nobody signs it, and after its end."""


class Stage(StrEnum):
    """How far a gasless payment is."""

    OFFERED = "offered"
    """The payer has not signed."""
    SIGNED = "signed"
    """It is to be made; no transaction has it."""
    SENDING = "sending"
    """It is part of a batch, which has a transaction or is about to have one."""
    PAID = "paid"
    FAILED = "failed"
    """Nothing was taken from the payer."""


@frozen
class GaslessPayment(Record):
    """A payment of a request by a transfer that its payer signs (ERC-3009) to the service's account, which pays payee
    and fee from it through the fee proxy, in one transaction, and keeps the network fee.

    `link_token` is the link of the request, if it has one. `amount`, `fee` and `network_fee` are in base units of the
    `currency`, `owed` in those of the request's amount; the authorization is for the sum of the three. Its nonce is the
    hash of the terms (rules.terms_hash). `gas_price` is the highest price of gas that the network fee pays for.
    `batch_id` names the batch that it is or was part of last, and `reverts` counts those that were reverted. `reason`
    says why it waits or has failed.
    """

    KEY = KeyPattern(PAYMENTS, "GASLESS#{payment_id}", "GASLESS")
    DUE_GROUP = "GASLESS"

    payment_id: str
    account_id: str
    client_id: str | None
    request_id: str
    network: str
    currency: str
    payee: str
    reference: str
    owed: BaseUnits
    amount: BaseUnits
    fee: BaseUnits
    fee_address: str | None
    network_fee: BaseUnits
    gas_price: BaseUnits
    authorization: Authorization
    created_at: datetime
    stage: Stage = Stage.OFFERED
    signature: str | None = None
    runs_code: bool = False
    """Whether the payer's account has code, which the token asks about the signature."""
    accepted_at: datetime | None = None
    batch_id: str | None = None
    reverts: int = 0
    tx_hash: str | None = None
    reason: str | None = None
    ended_at: datetime | None = None
    check_at: datetime | None = None
    """When it is looked at next; None unless it is signed and in no batch."""
    link_token: str | None = None
    is_public: bool = False
    """Whether its request was created with a client id alone, which anybody may know."""

    @property
    def payer(self) -> str:
        return self.authorization.payer

    @property
    def deadline(self) -> datetime:
        """From then on no block takes the authorization."""
        return datetime.fromtimestamp(self.authorization.valid_before, UTC)

    @property
    def next_due(self) -> datetime | None:
        """When it is looked at next."""
        return self.check_at

    @property
    def vanishes_at(self) -> datetime | None:
        """An hour after its deadline if nobody signs it, 90 days after its end; None while it is being made."""
        if self.stage is Stage.OFFERED:
            return self.deadline + UNSIGNED_RETENTION
        return self.ended_at + RETENTION if self.ended_at is not None else None


@frozen
class LastSigned(Record):
    """The gasless payment that a wallet has signed last on a network. While that is made the wallet signs no other one,
    as both could take the same tokens. `payer` is in lower case."""

    KEY = KeyPattern(PAYMENTS, "GASLESS_OF#{network}#{payer}", "SIGNED")

    network: str
    payer: str
    payment_id: str
    signed_at: datetime

    @property
    def vanishes_at(self) -> datetime:
        """90 days after the signature."""
        return self.signed_at + RETENTION


@frozen
class GaslessBatch(Record):
    """Gasless payments of one account of this service that one transaction makes, all of them or none.

    `sender` is the service's account that makes them. Its call of the relayer has the key `gasless/{batch_id}`.
    """

    KEY = KeyPattern(PAYMENTS, "GASLESS_BATCH#{batch_id}", "BATCH")
    DUE_GROUP = "GASLESS"

    batch_id: str
    network: str
    account_id: str
    sender: str
    payment_ids: tuple[str, ...]
    created_at: datetime
    ended_at: datetime | None = None
    check_at: datetime | None = None

    @property
    def next_due(self) -> datetime | None:
        """When it is looked at next."""
        return self.check_at

    @property
    def vanishes_at(self) -> datetime | None:
        """90 days after its end."""
        return self.ended_at + RETENTION if self.ended_at is not None else None
