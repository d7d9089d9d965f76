"""Scenes of payments on Tron by what they take of energy and bandwidth: such as can be paid, and such as cannot."""

from typing import Any

from chalicelib.base.money import BaseUnits, format_amount
from chalicelib.chains.calldata.checkout import pay_one, with_approvals
from chalicelib.chains.calldata.explanations.calls import explain
from chalicelib.chains.nodes.readings import AccountResources, CallEnergy, ResourcePrices, ResourceReading
from chalicelib.checkout.resources.rules import ResourceQuote, calls_of, plan, quote_steps
from chalicelib.checkout.resources.schemas import resources_answer
from infra.local.scenes import ON_TRON, TRON, Scene, due_of, quote_of

_OWNER = "TLa2f6VPqDgRE67v1736s7bJ8Ray5wYjU7"
_STAKED = AccountResources(is_active=True, energy=65_000, bandwidth=350, free_bandwidth=600)
_PRICES = ResourcePrices(energy=BaseUnits(100), bandwidth=BaseUnits(1_000), activation=BaseUnits(1_100_000))
_USUAL, _HIGH = 64_285, 9_000_000


def quote_for(trx: int, account: AccountResources, energy: int | None = _USUAL) -> ResourceQuote:
    """The quote for a wallet of so many TRX, each of whose calls takes so much energy."""
    checkout = with_approvals(pay_one(due_of(ON_TRON)), {})
    steps = plan(_OWNER, checkout, explain("tron", checkout.transactions))
    calls = tuple(None if energy is None else CallEnergy(energy) for _ in calls_of(steps))
    return quote_steps(ResourceReading(_PRICES, account, calls), BaseUnits(trx * 10**6), steps)


def _scene(trx: int, account: AccountResources, energy: int | None = _USUAL, **metadata: Any) -> Scene:
    found = quote_for(trx, account, energy)
    wallet = {"nativeBalance": format_amount(BaseUnits(trx * 10**6), 6), "hasEnoughGas": found.problem is None}
    if found.is_complete:
        wallet["estimatedNetworkFee"] = format_amount(found.burned, 6)
    resources = resources_answer(found).model_dump(exclude_unset=True)
    body = quote_of(link=ON_TRON, resources=resources, **{**wallet, **metadata})
    return Scene("review", (200, ON_TRON), pay=(200, body), says=TRON, how="tron")


ENERGY_SCENES: dict[str, Scene] = {
    "energy": _scene(50, AccountResources(is_active=True, free_bandwidth=600)),
    "energy-staked": _scene(0, AccountResources(is_active=True, energy=400_000, bandwidth=2_000, free_bandwidth=600)),
    "energy-short": _scene(2, _STAKED),
    "energy-new": _scene(0, AccountResources(is_active=False)),
    "energy-limit": _scene(5_000, _STAKED, _HIGH),
    "energy-unknown": _scene(50, _STAKED, None),
}
