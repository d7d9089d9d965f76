"""Builds what the payer of a commerce payment sends, to pay it and to take back what is held.

It is paid by an approval and a pre-approval for the escrow, never by a fee proxy's payment.
"""

from dataclasses import replace

from chalicelib.base.errors import BadRequest
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.checkout import Checkout
from chalicelib.checkout import building
from chalicelib.checkout.building import PayOptions, Prepared
from chalicelib.commerce.service.paying import PayersCall, pre_approval_of, reclaim_of
from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.payable.rules import Owed, direct
from chalicelib.payments.requests.rules import currency_of, remaining
from chalicelib.platform.services import Services

PRE_APPROVAL_GAS = 80_000
"""An upper estimate of the pre-approval."""
RECLAIM_GAS = 120_000
"""An upper estimate of taking back what is held."""


def prepare(services: Services, payment: PayableLink, options: PayOptions) -> Prepared:
    """The transactions with which a wallet lets the escrow take its tokens: the buyer's if no wallet is named.

    One read and one write at most, and the calls to the node of `building.complete`. Raises Conflict if it is
    authorized already, LinkClosed, WrongWallet, BadRequest for options that it does not support.
    """
    commerce = payment.commerce
    assert commerce is not None, "it is paid through the escrow"
    if options.source is not None or options.eoa_wallet is not None:
        raise BadRequest("A commerce payment is made by one wallet on its own network: omit chain, token and eoaWallet")
    made = pre_approval_of(services, payment, options.wallet)
    return _prepared(services, payment, made, commerce.max_amount, PRE_APPROVAL_GAS, options)


def reclaim(services: Services, payment: PayableLink, wallet: str, is_safe: bool) -> Prepared:
    """The one transaction with which the wallet that has paid takes back what is held. One call to the node.

    Raises BadRequest for a link that is no commerce payment, and as `reclaim_of`.
    """
    if payment.commerce is None:
        raise BadRequest("This link is no commerce payment: nothing is held of it that could be taken back")
    made = reclaim_of(services, payment.commerce, wallet)
    return _prepared(services, payment, made, BaseUnits(0), RECLAIM_GAS, PayOptions(wallet, is_safe=is_safe))


def _prepared(
    services: Services, payment: PayableLink, made: PayersCall, debit: BaseUnits, gas: int, options: PayOptions
) -> Prepared:
    """A call of the payer that takes `debit` from its wallet, with the approvals that this needs."""
    (request,) = payment.requests
    chain, token = services.chains.of(request.network), currency_of(request)
    holdings = chain.read_wallet(made.payer, [token.address], made.transaction.to)
    checkout = Checkout(made.transaction.to, {token: debit}, (made.transaction,), gas)
    checkout = building.with_approvals(chain, checkout, made.payer, holdings)
    position = direct(Owed(request, remaining(request), payment.link.fee))
    return building.complete(
        chain, Prepared((position,), checkout, replace(options, wallet=made.payer), holdings)
    )
