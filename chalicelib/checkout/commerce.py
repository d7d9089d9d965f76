"""What the payer of a commerce payment sends, to pay it and to take back what is held.

It is paid by an approval and a pre-approval for the escrow, never by a fee proxy's payment.
"""

from dataclasses import replace

from chalicelib.base.errors import BadRequest
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.checkout import Checkout
from chalicelib.checkout.pipeline import Built, Prepared, prepare, with_approvals
from chalicelib.checkout.rules import PayOptions
from chalicelib.commerce.service.paying import PayersCall, pre_approval_of, reclaim_of
from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.payable.rules import direct, whole_of
from chalicelib.platform.services import Services

PRE_APPROVAL_GAS = 80_000
"""An upper estimate of the pre-approval."""
RECLAIM_GAS = 120_000
"""An upper estimate of taking back what is held."""


def pre_approval(services: Services, payable: PayableLink, options: PayOptions) -> Prepared:
    """The transactions with which a wallet lets the escrow take its tokens: the buyer's if no wallet is named.

    One read and one write at most, and the calls to the node of `prepare`. Raises Conflict if it is authorized already,
    LinkClosed, WrongWallet, BadRequest for options that it does not support.
    """
    assert payable.commerce is not None, "it is paid through the escrow"
    if options.source is not None or options.eoa_wallet is not None:
        raise BadRequest("A commerce payment is made by one wallet on its own network: omit chain, token and eoaWallet")
    made = pre_approval_of(services, payable, options.wallet)
    return _prepare_call(services, payable, made, payable.commerce.max_amount, PRE_APPROVAL_GAS, options)


def reclaim(services: Services, payable: PayableLink, options: PayOptions) -> Prepared:
    """The one transaction with which the wallet that has paid takes back what is held. One call to the node.

    Raises BadRequest for a link that is not a commerce payment, and as `reclaim_of`.
    """
    if payable.commerce is None:
        raise BadRequest("This link is not a commerce payment: there is nothing in escrow to take back")
    made = reclaim_of(services, payable.commerce, options.wallet)
    return _prepare_call(services, payable, made, BaseUnits(0), RECLAIM_GAS, options)


def _prepare_call(
    services: Services, payable: PayableLink, made: PayersCall, debit: BaseUnits, gas: int, options: PayOptions
) -> Prepared:
    """A call of the payer that takes at most `debit` from its wallet, with the approvals that this needs."""
    (position,) = (direct(each) for each in whole_of(payable))
    chain, token = services.chains.of(position.due.token.network), position.due.token
    holdings = chain.read_wallet(made.payer, [token.address], made.transaction.to)
    paid = Checkout(made.transaction.to, {token: debit}, (made.transaction,), gas)
    built = Built(chain, with_approvals(chain, paid, made.payer, holdings), holdings)
    prepared = prepare((position,), replace(options, wallet=made.payer), built)
    return replace(prepared, payable=payable, parts=(payable,))
