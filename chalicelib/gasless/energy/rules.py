"""Decides what is delegated to a wallet on Tron for one payment, and when it is taken back.

    GIVEN    the link is paid or closed, or the time is over:    TAKING
    TAKING   what the nodes say is delegated is taken back, until they say that nothing is:    ENDED

Anybody can ask for a delegation to any wallet, and its owner may use it for anything. So a delegation has a most, all
of a day have one for each account and for all, a wallet has one at a time, and after one that paid nothing it waits.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from chalicelib.base.addresses import tron_address
from chalicelib.base.errors import ChainUnavailable, Conflict
from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.tron import Delegation, Resource
from chalicelib.chains.nodes.readings import Delegated, ReferenceBlock, ResourceTotals, Stake
from chalicelib.gasless.energy.records import EnergyDelegation, EnergyUse, Stage

LIFETIME = timedelta(minutes=15)
"""For how long a wallet has what is delegated to it."""
SHOWN_SHORTER = timedelta(minutes=2)
"""How much earlier a payer is to have paid than it is taken back: what was signed needs a block."""
UNPAID_WAIT = timedelta(days=1)
"""How long a wallet waits that has paid nothing; what it used of the stake takes a day to recover."""
MOST_ENERGY, MOST_BANDWIDTH = 1_000_000, 5_000
"""Units and bytes for one payment: three to five times what an approval and a payment of USDT take."""
SUN = 10**6
_LEAST_STAKE = SUN
"""The least that the network delegates."""
_MOST_APART_PERCENT = 10
"""How much more than the least a stake may be that a node names: what all stakes give changes by less in a day."""
SIGNED_FOR = 120_000
"""Milliseconds after the newest block in which a block takes what was signed: the schedule can still send what a
process has not that died."""
LOOK_AGAIN = timedelta(seconds=55)
"""Less than the minute between two runs of the schedule."""
OVERDUE = timedelta(hours=1)
"""How long taking back may take before it is an error: its transactions are signed anew every few minutes."""


@frozen
class EnergySetting:
    """What an operator has set: the account whose stake is delegated, how many units of energy are in a day at most for
    all accounts, and where the key is that signs (`kms`, or on local stacks `secret`)."""

    account: str
    daily: int
    key: str = "kms"


def parse_setting(text: str) -> EnergySetting:
    """The setting in the entry `tron_energy`, such as `account=T...,daily=5000000`. Raises ValueError, LookupError or
    BadRequest."""
    values = dict(each.strip().split("=") for each in text.split(","))
    daily, key = int(values.pop("daily")), values.pop("key", "kms")
    account = tron_address(values.pop("account", ""))
    if values or daily < 0 or key not in ("kms", "secret"):
        raise ValueError("an unknown part, a negative number, or another key than kms or secret")
    return EnergySetting(account, daily, key)


@frozen
class Wish:
    """A payment of a link for which a wallet lacks energy (units) and bandwidth (bytes)."""

    wallet: str
    account_id: str
    link_token: str
    energy: int
    bandwidth: int


def check_free(last: EnergyDelegation | None, wish: Wish, now: datetime) -> None:
    """Raises Conflict for a wallet that has a delegation, or had one of the account's and paid nothing with it."""
    if last is None:
        return
    if last.is_open:
        raise Conflict("The wallet has energy for a payment that is not finished: try again in a quarter of an hour")
    if last.unpaid and last.account_id == wish.account_id and last.ended_at and now < last.ended_at + UNPAID_WAIT:
        raise Conflict("The wallet had energy and did not pay with it: it is delegated again after a day; send it TRX")


def count_use(use: EnergyUse, energy: int, most: int) -> EnergyUse:
    """The use of a day with a delegation more. Raises Conflict if that is more than `most`."""
    if use.energy + energy > most:
        raise Conflict("No more energy is delegated today: send the wallet the TRX that it lacks, or try tomorrow")
    return replace(use, energy=use.energy + energy)


def choose_stakes(network: str, stakes: Sequence[Stake], wish: Wish) -> tuple[BaseUnits, BaseUnits]:
    """The parts of the stake that give what a wallet lacks, in sun: for energy and for bandwidth, the least that a node
    names. Raises ChainUnavailable if another one names much more, Conflict if the stake has too little left."""
    chosen = []
    for lacking, readings in (
        (wish.energy, [(each.energy, each.energy_totals) for each in stakes]),
        (wish.bandwidth, [(each.bandwidth, each.bandwidth_totals) for each in stakes]),
    ):
        needed = [_stake_for(lacking, totals) for _, totals in readings]
        if max(needed) * 100 > min(needed) * (100 + _MOST_APART_PERCENT):
            raise ChainUnavailable(f"The nodes of {network} do not say the same of what a stake gives")
        if min(needed) > min(left for left, _ in readings):
            raise Conflict("Too little of the stake is left now: send the wallet the TRX that it lacks, or try later")
        chosen.append(BaseUnits(min(needed)))
    energy, bandwidth = chosen
    return energy, bandwidth


def _stake_for(units: int, totals: ResourceTotals) -> int:
    """In whole TRX, of which the network counts no parts; 0 for nothing."""
    return max(-(-units * totals.weight // totals.limit) * SUN, _LEAST_STAKE) if units else 0


def oldest(blocks: Sequence[ReferenceBlock]) -> ReferenceBlock:
    """The block to refer to of those that nodes name: what is signed is no longer valid than by any of them."""
    return min(blocks, key=lambda each: each.time)


def to_sign(
    owner: str, permission_id: int, wallet: str, amounts: Delegated, block: ReferenceBlock, *, takes_back: bool
) -> tuple[Delegation, ...]:
    """The transactions that delegate these amounts, or take them back."""
    parts = ((Resource.ENERGY, amounts.energy), (Resource.BANDWIDTH, amounts.bandwidth))
    return tuple(
        Delegation(
            owner=owner,
            receiver=wallet,
            resource=resource,
            balance=balance,
            takes_back=takes_back,
            expiration=block.time + SIGNED_FOR,
            ref_block_bytes=block.ref_block_bytes,
            ref_block_hash=block.ref_block_hash,
            timestamp=block.time,
            permission_id=permission_id,
        )
        for resource, balance in parts
        if balance
    )


def begin(
    wish: Wish, owner: str, amounts: Delegated, signed: Sequence[str], last: EnergyDelegation | None, now: datetime
) -> EnergyDelegation:
    """The delegation, which takes the place of the wallet's last one."""
    return EnergyDelegation(
        wallet=wish.wallet,
        account_id=wish.account_id,
        link_token=wish.link_token,
        owner=owner,
        energy=wish.energy,
        bandwidth=wish.bandwidth,
        energy_stake=amounts.energy,
        bandwidth_stake=amounts.bandwidth,
        created_at=now,
        until=now + LIFETIME,
        signed=tuple(signed),
        signed_until=amounts.time + SIGNED_FOR,
        check_at=now + LOOK_AGAIN,
        version=last.version if last is not None else 0,
    )


def is_wanted(delegation: EnergyDelegation, is_payable: bool, now: datetime) -> bool:
    """Whether the wallet is to have it: its link is neither paid nor closed, and the time is not over."""
    return delegation.stage is Stage.GIVEN and is_payable and now < delegation.until


def agree_on_delegated(network: str, said: Sequence[Delegated]) -> Delegated:
    """What nodes say alike of a delegation, after the oldest of their blocks. Raises ChainUnavailable if they say
    different things, as they do while one is behind."""
    if len({(each.energy, each.bandwidth) for each in said}) > 1:
        raise ChainUnavailable(f"The nodes of {network} do not say the same of a delegation")
    return min(said, key=lambda each: each.time)


def may_be_pending(delegation: EnergyDelegation, delegated: Delegated) -> bool:
    """Whether a later block may take what was signed last."""
    return delegated.time <= delegation.signed_until


def put_off(delegation: EnergyDelegation, now: datetime) -> EnergyDelegation:
    return replace(delegation, check_at=now + LOOK_AGAIN)


def take_back(
    delegation: EnergyDelegation, signed: Sequence[str], signed_until: int, now: datetime
) -> EnergyDelegation:
    """The delegation with the transactions that take back what is left of it."""
    since = delegation.taking_since or now
    taking = replace(delegation, stage=Stage.TAKING, taking_since=since, check_at=now + LOOK_AGAIN)
    return replace(taking, signed=tuple(signed), signed_until=signed_until)


def end(delegation: EnergyDelegation, is_paid: bool, now: datetime) -> EnergyDelegation:
    """The delegation once nothing of it is left. One that never got into a block was not the wallet's to pay with."""
    unpaid = delegation.stage is Stage.TAKING and not is_paid
    return replace(delegation, stage=Stage.ENDED, unpaid=unpaid, ended_at=now, signed=(), check_at=None)


def is_overdue(delegation: EnergyDelegation, now: datetime) -> bool:
    """Whether taking it back takes longer than it should."""
    return delegation.is_open and now >= delegation.until + OVERDUE
