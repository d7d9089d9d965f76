"""Builds what pays a commerce payment: approval and pre-approval for the escrow, never a fee proxy's payment."""

from dataclasses import replace

from chalicelib.base.errors import BadRequest
from chalicelib.calldata.checkout import Checkout
from chalicelib.checkout import building
from chalicelib.checkout.building import PayOptions, Prepared
from chalicelib.checkout.rules import Owed, direct
from chalicelib.escrow.paying import pre_approval_of
from chalicelib.links.records import SecurePayment
from chalicelib.requests.rules import currency_of, remaining
from chalicelib.services import Services

PRE_APPROVAL_GAS = 80_000
"""An upper estimate of the pre-approval."""


def prepare(services: Services, payment: SecurePayment, options: PayOptions) -> Prepared:
    """The transactions with which a wallet lets the escrow take its tokens: the buyer's if no wallet is named.

    One read and one write at most, and the calls to the node of `building.complete`. Raises Conflict if it is
    authorized already, LinkClosed, WrongWallet, BadRequest for options that it does not support.
    """
    commerce, (request,) = payment.commerce, payment.requests
    assert commerce is not None, "it is paid through the escrow"
    if options.source is not None or options.eoa_wallet is not None:
        raise BadRequest("A commerce payment is made by one wallet on its own network: omit chain, token and eoaWallet")
    made = pre_approval_of(services, payment, options.wallet)
    chain, token = services.chains.of(request.network), currency_of(request)
    options = replace(options, wallet=made.payer)
    holdings = chain.read_wallet(made.payer, [token.address], made.transaction.to)
    checkout = Checkout(made.transaction.to, {token: commerce.max_amount}, (made.transaction,), PRE_APPROVAL_GAS)
    checkout = building.with_approvals(chain, checkout, made.payer, holdings)
    position = direct(Owed(request, remaining(request), payment.link.fee))
    return building.complete(chain, Prepared((position,), checkout, options, holdings))
