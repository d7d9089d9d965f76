"""The transactions of commerce payments: what the payer, the operator and the service's own account send."""

from chalicelib.base.addresses import ZERO_ADDRESS, same_address
from chalicelib.base.errors import BadRequest, Conflict
from chalicelib.base.frozen import make_from
from chalicelib.chains.calldata.escrow import calls as escrow_calls
from chalicelib.chains.calldata.escrow.calls import CaptureFee, Collection
from chalicelib.chains.calldata.escrow.payment_info import PaymentInfo, payment_hash
from chalicelib.chains.calldata.tokens import erc20
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.escrows import EscrowContracts, Escrows, escrow_contracts, escrow_networks
from chalicelib.chains.catalogue.tokens import require_token
from chalicelib.commerce.core.records import Collector, CommercePayment, OperationKind, PendingOperation


def contracts_on(network: str, overrides: Escrows) -> EscrowContracts:
    """The escrow and its collectors on a network. Raises BadRequest for one without them, with those that have them."""
    found = escrow_contracts(network, overrides)
    if found is None:
        having = " and ".join(escrow_networks(overrides)) or "no network of this deployment"
        raise BadRequest(f"There is no escrow for commerce payments on {network}: it is on {having}")
    return found


def contracts_of(payment: CommercePayment, overrides: Escrows) -> EscrowContracts:
    """The contracts of a payment. Raises Conflict if the deployment has been changed to another escrow since."""
    found = escrow_contracts(payment.network, overrides)
    if found is None or not same_address(found.escrow, payment.escrow):
        raise Conflict(f"The service does not operate the escrow {payment.escrow} of this payment any more")
    return found


def info_of(payment: CommercePayment, payer: str) -> PaymentInfo:
    """The terms of a payment, for a payer."""
    return make_from(
        PaymentInfo,
        payment,
        payer=payer,
        token=token_address(payment),
        pre_approval_expiry=int(payment.pre_approval_expiry.timestamp()),
        authorization_expiry=int(payment.authorization_expiry.timestamp()),
        refund_expiry=int(payment.refund_expiry.timestamp()),
        fee_receiver=payment.fee_receiver or ZERO_ADDRESS,
        salt=int(payment.salt, 16),
    )


def token_address(payment: CommercePayment) -> str:
    return require_token(payment.currency).address


def hash_for(payment: CommercePayment, payer: str, contracts: EscrowContracts) -> str:
    """The escrow's name of the payment with this payer."""
    return payment_hash(info_of(payment, payer), contracts)


def operation_call(payment: CommercePayment, pending: PendingOperation, contracts: EscrowContracts) -> Transaction:
    """What the operator sends for an operation; of a refund, after the collector of refunds may take the amount."""
    assert pending.payer is not None, "an operation is reserved with the payer"
    info, fee = info_of(payment, pending.payer), CaptureFee(pending.fee_bps, pending.fee_receiver or ZERO_ADDRESS)
    match pending.kind:
        case OperationKind.AUTHORIZE:
            return escrow_calls.authorize(info, contracts, pending.amount, _collection(pending, contracts))
        case OperationKind.CHARGE:
            return escrow_calls.charge(info, contracts, pending.amount, _collection(pending, contracts), fee)
        case OperationKind.CAPTURE:
            return escrow_calls.capture(info, contracts, pending.amount, fee)
        case OperationKind.VOID:
            return escrow_calls.void(info, contracts)
        case OperationKind.REFUND:
            return escrow_calls.refund(info, contracts, pending.amount)


def operator_calls(
    payment: CommercePayment, pending: PendingOperation, contracts: EscrowContracts
) -> tuple[Transaction, ...]:
    """All that an operator with a wallet of its own sends for an operation, in this order."""
    call = operation_call(payment, pending, contracts)
    if pending.kind is not OperationKind.REFUND:
        return (call,)
    return erc20.approve(token_address(payment), contracts.operator_refund, pending.amount), call


def approval_calls(payment: CommercePayment, payer: str, contracts: EscrowContracts) -> tuple[Transaction, Transaction]:
    """What a payer sends, in this order: the allowance for the collector, and the approval of the terms."""
    return escrow_calls.pre_approve(info_of(payment, payer), contracts)


def _collection(pending: PendingOperation, contracts: EscrowContracts) -> Collection:
    addresses = {
        Collector.PRE_APPROVAL: contracts.pre_approval,
        Collector.ERC3009: contracts.erc3009,
        Collector.PERMIT2: contracts.permit2,
    }
    return Collection(addresses[pending.collector], bytes.fromhex(pending.signature or ""))
