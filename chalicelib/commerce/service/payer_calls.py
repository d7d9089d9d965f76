"""What a payer sends or signs for a commerce payment, to pay it and to take back what is held."""

from typing import Any

from chalicelib.accounts.branding import flows as branding
from chalicelib.base.addresses import evm_address, same_address
from chalicelib.base.errors import BadRequest, Conflict
from chalicelib.base.frozen import frozen
from chalicelib.chains.calldata.escrow import signatures as escrow_signatures
from chalicelib.chains.calldata.escrow.calls import reclaim
from chalicelib.chains.calldata.tokens import erc20
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.contracts import PERMIT2, address_of
from chalicelib.chains.catalogue.escrows import EscrowContracts
from chalicelib.commerce.core.expiry import can_reclaim, has_expired
from chalicelib.commerce.core.records import CommercePayment
from chalicelib.commerce.service import operation_steps
from chalicelib.commerce.service.rules import require_payer
from chalicelib.commerce.service.transactions import approval_calls, contracts_of, hash_for, info_of, token_address
from chalicelib.payments.links.errors import LinkClosed, WrongWallet
from chalicelib.payments.links.records import LinkStatus, PayableLink
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import try_write


@frozen
class PayerOptions:
    """The ways in which one wallet can let the escrow take its tokens: two transactions, or a signature.

    `erc3009` and `permit2` are typed data, None where the token or the network does not allow it; Permit2 needs the
    `approval` once.
    """

    payment_hash: str
    transactions: tuple[Transaction, ...]
    erc3009: dict[str, Any] | None
    permit2: dict[str, Any] | None
    approval: Transaction | None


def payer_options(services: Services, payment: CommercePayment, wallet: str) -> PayerOptions:
    """The ways in which a wallet can pay. One call to the node. Raises ChainUnavailable."""
    contracts = contracts_of(payment, services.settings.escrow_contracts)
    info = info_of(payment, wallet)
    domain = services.chains.evm(payment.network).read_erc3009_domain(info)
    erc3009 = escrow_signatures.erc3009_typed_data(info, contracts, domain) if domain is not None else None
    permit2, approval = _permit2(payment, wallet, contracts)
    transactions = approval_calls(payment, wallet, contracts)
    return PayerOptions(hash_for(payment, wallet, contracts), transactions, erc3009, permit2, approval)


@frozen
class PayersCall:
    """A transaction that names its payer, who alone can send it."""

    payer: str
    transaction: Transaction


def pre_approval_of(services: Services, link: PayableLink, wallet: str | None) -> PayersCall:
    """What a wallet, or the buyer, sends so that the escrow may take its tokens, after its allowance for the called
    contract. At most one read and one write: the entry that finds the payment by its hash with this wallet.

    Raises Conflict if the escrow has the money already, LinkClosed after the time to pay, WrongWallet, BadRequest
    without a wallet.
    """
    payment = link.commerce
    assert payment is not None, "it is paid through the escrow"
    check_payable(services, link, payment)
    payer = wallet or payment.buyer
    if payer is None:
        raise BadRequest("wallet is needed: what the payer of a commerce payment sends names the wallet")
    if not payer.startswith("0x"):
        raise BadRequest(f"wallet is not an address of {payment.network}, on which this is paid")
    if payment.buyer is not None and not same_address(payer, payment.buyer):
        raise WrongWallet(payment.buyer, "Only the wallet that was named as the buyer may pay this")
    if same_address(payer, payment.receiver):
        raise BadRequest("wallet is the merchant: give the wallet that pays")
    if payment.buyer is None:
        _remember(services, payment, payer)
    contracts = contracts_of(payment, services.settings.escrow_contracts)
    return PayersCall(payer, approval_calls(payment, payer, contracts)[-1])


def reclaim_of(services: Services, payment: CommercePayment, wallet: str | None = None) -> PayersCall:
    """What the wallet that has paid sends to take back what is held, from the authorization's expiry on.

    Raises Conflict if nothing is held or before that, WrongWallet for another wallet, if one is named.
    """
    payer = evm_address(require_payer(payment))
    if wallet is not None and not same_address(wallet, payer):
        raise WrongWallet(payer, "Only the wallet that has paid can take this back")
    if not payment.capturable:
        raise Conflict("Nothing is held of this payment that the payer could take back")
    if not can_reclaim(payment, services.clock()):
        expiry = int(payment.authorization_expiry.timestamp())
        raise Conflict(f"The payer can take back what is held from the authorization's expiry on, {expiry}")
    contracts = contracts_of(payment, services.settings.escrow_contracts)
    return PayersCall(payer, reclaim(info_of(payment, payer), contracts))


def check_payable(services: Services, link: PayableLink, payment: CommercePayment) -> None:
    """Raises Conflict if the escrow has the money already, LinkClosed after the time in which it could take it."""
    if payment.is_collected:
        raise Conflict("This payment is authorized already: its money is in the escrow")
    check_open(services, link, payment)


def check_open(services: Services, link: PayableLink, payment: CommercePayment) -> None:
    """Raises LinkClosed after the time in which the escrow could take the money, if it has not."""
    if not payment.is_collected and has_expired(payment, services.clock()):
        raise LinkClosed(LinkStatus.EXPIRED, link, branding.of_client(services, link.link.client_id))


def _remember(services: Services, payment: CommercePayment, wallet: str) -> None:
    references = operation_steps.reference_for(services, payment, wallet)
    if references:
        try_write(services.store, *references)  # False: the same wallet has asked at the same time


def _permit2(
    payment: CommercePayment, wallet: str, contracts: EscrowContracts
) -> tuple[dict[str, Any] | None, Transaction | None]:
    try:
        spender = address_of(PERMIT2, payment.network)
    except LookupError:
        return None, None
    approval = erc20.approve(token_address(payment), spender, payment.max_amount)
    return escrow_signatures.permit2_typed_data(info_of(payment, wallet), contracts), approval
