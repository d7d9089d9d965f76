"""Calls of the escrow and of its collector of pre-approvals. `info`, the terms of the payment, is 12 words.

authorize   41d66202 | info | amount | collector | 0x1e0 | data of the collector
charge      9e65819f | info | amount | collector | 0x220 | fee in basis points | fee receiver | data of the collector
capture     644cd79a | info | amount | fee in basis points | fee receiver
void        fa1cad17 | info
reclaim     e1a2a66d | info
refund      d458db5a | info | amount | collector | 0x1e0 | 0
preApprove  c6184c2f | info

The operator sends all of them but `reclaim` and `preApprove`, which the payer sends.
"""

from chalicelib.base.frozen import frozen
from chalicelib.base.signatures import member_word
from chalicelib.chains.calldata.abi import WORD, address_word, bytes_tail, call, uint_word
from chalicelib.chains.calldata.escrow.payment_info import INFO_BYTES, PaymentInfo, encode_info
from chalicelib.chains.calldata.tokens import erc20
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.escrows import EscrowContracts

AUTHORIZE = bytes.fromhex("41d66202")
CHARGE = bytes.fromhex("9e65819f")
CAPTURE = bytes.fromhex("644cd79a")
VOID = bytes.fromhex("fa1cad17")
RECLAIM = bytes.fromhex("e1a2a66d")
REFUND = bytes.fromhex("d458db5a")
PRE_APPROVE = bytes.fromhex("c6184c2f")


@frozen
class Collection:
    """How the tokens are taken: the address of the collector, and what it is given, such as the payer's signature."""

    collector: str
    data: bytes = b""


@frozen
class CaptureFee:
    """The part of a capture that goes to `receiver`, in basis points, rounded down. Without one the receiver may be
    the zero address, unless the terms of the payment name one."""

    bps: int
    receiver: str


def pre_approve(info: PaymentInfo, contracts: EscrowContracts) -> tuple[Transaction, Transaction]:
    """What the payer sends, in this order: the allowance of the collector, and the approval of these terms.

    This and all others raise OverflowError for a number that its type cannot hold.
    """
    approval = erc20.approve(info.token, contracts.pre_approval, info.max_amount)
    return approval, Transaction(contracts.pre_approval, call(PRE_APPROVE, encode_info(info)), 0)


def authorize(info: PaymentInfo, contracts: EscrowContracts, amount: int, taken_by: Collection) -> Transaction:
    """Takes `amount` base units from the payer into the escrow, once for a payment."""
    return _call(contracts, AUTHORIZE, info, *_arguments_of_collector(amount, taken_by))


def charge(
    info: PaymentInfo, contracts: EscrowContracts, amount: int, taken_by: Collection, fee: CaptureFee
) -> Transaction:
    """Takes the amount from the payer and gives it to the receiver, less the fee, in one call."""
    return _call(contracts, CHARGE, info, *_arguments_of_collector(amount, taken_by, *_fee(fee)))


def capture(info: PaymentInfo, contracts: EscrowContracts, amount: int, fee: CaptureFee) -> Transaction:
    """Gives an authorized amount, or a part of it, to the receiver, less the fee."""
    return _call(contracts, CAPTURE, info, uint_word(amount), *_fee(fee))


def void(info: PaymentInfo, contracts: EscrowContracts) -> Transaction:
    """Gives all that is held back to the payer."""
    return _call(contracts, VOID, info)


def reclaim(info: PaymentInfo, contracts: EscrowContracts) -> Transaction:
    """Gives all that is held back to the payer, who sends it after the authorization has expired."""
    return _call(contracts, RECLAIM, info)


def refund(info: PaymentInfo, contracts: EscrowContracts, amount: int) -> Transaction:
    """Gives a captured amount back to the payer, from the operator's own tokens, which it has to allow before."""
    return _call(contracts, REFUND, info, *_arguments_of_collector(amount, Collection(contracts.operator_refund)))


def _call(contracts: EscrowContracts, selector: bytes, info: PaymentInfo, *words: bytes) -> Transaction:
    return Transaction(contracts.escrow, call(selector, encode_info(info), *words), 0)


def _arguments_of_collector(amount: int, taken_by: Collection, *fee: bytes) -> tuple[bytes, ...]:
    """The arguments after the terms: the last is the offset of the collector's data, which follows them all."""
    offset = INFO_BYTES + WORD * (3 + len(fee))
    return (
        uint_word(amount),
        address_word(taken_by.collector),
        uint_word(offset),
        *fee,
        bytes_tail(taken_by.data),
    )


def _fee(fee: CaptureFee) -> tuple[bytes, bytes]:
    return member_word("uint16", fee.bps), address_word(fee.receiver)
