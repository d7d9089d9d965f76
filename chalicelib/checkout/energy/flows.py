"""Delegates what a wallet on Tron lacks to pay a link."""

from chalicelib.base.errors import BadRequest
from chalicelib.checkout import flows as checkout
from chalicelib.checkout.energy import rules
from chalicelib.checkout.rules import PayOptions
from chalicelib.gasless.energy import flows as energy
from chalicelib.gasless.energy.records import EnergyDelegation
from chalicelib.payments.links.reading import Viewer
from chalicelib.platform.services import Services


def delegate(services: Services, token: str, viewer: Viewer, wallet: str) -> EnergyDelegation:
    """Delegates the energy and bandwidth that a wallet lacks for a link; the same again returns what it has for it.

    The calls of `checkout.pay` and of `energy.delegate`, which say what else is raised. Raises BadRequest with what to
    do for a link or a wallet that this is not for.
    """
    prepared = checkout.pay(services, token, viewer, PayOptions(wallet))
    link, quote = prepared.cart.link, prepared.resources
    if link is None or quote is None:
        raise BadRequest("Energy is delegated for payments on tron alone")
    if prepared.delegation is not None:
        return prepared.delegation
    refusal = rules.why_not(link, quote)
    if refusal is not None:
        raise BadRequest(refusal)
    return energy.delegate(services, rules.wish_of(link, wallet, quote))
