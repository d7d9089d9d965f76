"""What callers ask of a commerce payment, as the operation of its ledger; who may have it executed."""

from chalicelib.access.callers import Owner
from chalicelib.access.modes import Mode
from chalicelib.base.addresses import evm_address, same_address
from chalicelib.base.errors import BadRequest, Conflict, Forbidden
from chalicelib.base.frozen import frozen
from chalicelib.requests.commerce.records import Collector, CommercePayment, OperationKind, PendingOperation
from chalicelib.requests.fields import parse_field, refused

COLLECTORS = {each.value: each for each in Collector}


@frozen
class Authorizing:
    """How a payer's tokens are taken, as sent: `payer` is needed if any wallet may pay and none is known yet."""

    payer: str | None = None
    method: str = Collector.PRE_APPROVAL.value
    signature: str | None = None
    amount: int | None = None


@frozen
class Capturing:
    """How much is captured, in base units, and the fee of it as sent; None: the payment's own bound."""

    amount: int
    fee_bps: int | None = None
    fee_receiver: str | None = None


def check_executes(owner: Owner, payment: CommercePayment, kind: OperationKind) -> None:
    """Raises Forbidden for a client id alone, with which anybody could move money, and Conflict if the operator is not
    the service's own account."""
    if owner.mode is Mode.CLIENT_ID and kind is not OperationKind.AUTHORIZE:
        raise Forbidden(
            f"A client ID is public, and a {kind.value} moves money: send an API key. "
            f"With a client ID there is /{kind.value}/calldata"
        )
    if not payment.is_service_operator:
        raise Conflict(
            f"The operator of this payment is the wallet {payment.operator}, which the service cannot sign for: "
            f"send the transaction of /{kind.value}/calldata from it"
        )


def payer_of(payment: CommercePayment, sent: str | None) -> str:
    """The wallet whose tokens are taken. Raises Conflict or ValidationFailed if it is not known, or not the buyer."""
    wanted = parse_field(("payer",), evm_address, sent) if sent is not None else None
    known = payment.payer or payment.buyer
    if known is not None:
        if wanted is not None and not same_address(wanted, known):
            raise refused(("payer",), f"is not {known}, which pays: leave it out")
        return known
    if wanted is not None:
        if same_address(wanted, payment.receiver):
            raise refused(("payer",), "is the merchant: give the wallet that pays")
        return wanted
    if payment.pre_approved_by:
        return payment.pre_approved_by[-1]
    raise Conflict("No wallet has pre-approved this payment yet: give the payer, or wait for its pre-approval")


def known_payer(payment: CommercePayment) -> str:
    """Who has paid. Raises Conflict before that."""
    if payment.payer is None:
        raise Conflict("Nothing is held of this payment yet: it has to be authorized first")
    return payment.payer


def authorization(payment: CommercePayment, wanted: Authorizing) -> PendingOperation:
    raise NotImplementedError
