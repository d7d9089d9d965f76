"""What is stored of an announced payment that comes from another chain through a bridge: its deposit and its way."""

from datetime import datetime, timedelta
from enum import StrEnum

from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.base.records import Uint256

LONGEST_QUOTE = timedelta(minutes=61)
"""How long after an announcement the source chain may still accept a deposit of which nothing else is known: it does so
for an hour after the quote, whose clock may be a minute ahead."""


class Stage(StrEnum):
    """Where the money is, as far as the chains prove it."""

    SOURCE = "source"
    """With the payer: the transaction is not deep enough in the source chain."""
    BRIDGE = "bridge"
    """Deposited, and not yet paid out on the destination chain."""
    REFUNDING = "refunding"
    """The destination chain does not let it be paid out any more; the bridge has to return it on the source chain."""
    DESTINATION = "destination"
    """Paid out on the destination chain: to the payee, or to the payer if the payment failed there."""
    RETURNED = "returned"
    """Back with the payer on the source chain."""


@frozen
class Deposit:
    """What a transaction of the source chain deposits, and the payment that this leads to.

    `input_amount` base units of the `input_token` (an id of the catalogue) are taken; the bridge brings `output_amount`
    of the destination's token, of which `amount` is paid to the payee of `payment_reference`. The `depositor` gets the
    tokens back on the source chain if nobody fills the deposit until `fill_deadline`; `fallback` gets them on the
    destination chain if the payment fails there. The source chain accepts it until `execution_deadline`.
    """

    depositor: str
    fallback: str
    input_token: str
    input_amount: BaseUnits
    output_amount: BaseUnits
    payment_reference: str
    amount: BaseUnits
    execution_deadline: datetime
    fill_deadline: datetime


@frozen
class Returned:
    """Tokens that a wallet of the payer got back: `amount` base units of the token with this id of the catalogue."""

    wallet: str
    token: str
    amount: BaseUnits


@frozen
class BridgeTransfer:
    """The way of a payment from one chain to another; the announced transaction's `network` is the source chain.

    `since` is since when it is at its stage. `deposit` is None until a node has the transaction. `nonce_used_since` is
    since when the source chain has another transaction of its wallet with its nonce; None while it has not. From BRIDGE
    on, `deposit_id` is its number, `relay_hash` what the destination chain knows it by, `fill_key` what the event of
    its fill is known by (chains/nodes/bridges/deposits.py), and `deposited_block` and `deposited_at` say where it is in
    the source chain. `searched_to` is the last block of the destination that was searched for its payout,
    `refund_searched_to` the last one of the source that was searched for its refund; None before. `destination_hash` is
    the transaction of its payout, `payment_key` the event key of the payment that it made. `is_unknown`: at the last
    check nobody had the transaction, or its time had passed without an outcome. `is_surplus`: it reached the payee of a
    request that was paid before. `reason` says in words why it did not pay. `tool` is the bridge, as the payer
    announced it.
    """

    destination: str
    since: datetime
    searched_to: int
    stage: Stage = Stage.SOURCE
    deposit: Deposit | None = None
    nonce_used_since: datetime | None = None
    deposit_id: Uint256 | None = None
    relay_hash: str | None = None
    fill_key: str | None = None
    deposited_block: int | None = None
    deposited_at: datetime | None = None
    refund_searched_to: int | None = None
    destination_hash: str | None = None
    payment_key: str | None = None
    refund_hash: str | None = None
    returned: Returned | None = None
    is_surplus: bool = False
    is_unknown: bool = False
    reason: str | None = None
    tool: str | None = None
