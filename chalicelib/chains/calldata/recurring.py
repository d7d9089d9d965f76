"""Schedules of payments through ERC20RecurringPaymentProxy: the permit a payer signs, the call that makes a payment.

Only the contract's relayer may make the call.

triggerRecurringPayment, 4 + 22 words of 32 bytes:

    ac7a9e00
    000  permit: its 13 members
    1a0  0x200: offset of the signature
    1c0  index of the payment, from 1
    1e0  0x280: offset of the reference
    200  65: length of the signature
    220  signature: r, s, v, and 31 zeros
    280  8: length of the reference
    2a0  reference, 8 bytes and 24 zeros

For each payment the contract takes amount, fee and relayer fee from the subscriber, who has to approve it for the sum
of all payments, and pays through ERC20FeeProxy, whose event is the payment.
"""

from dataclasses import astuple
from typing import Any

from chalicelib.base.frozen import frozen
from chalicelib.base.signatures import SIGNATURE_BYTES, digest_of_typed_data, member_word
from chalicelib.chains.calldata.abi import bytes_tail, call, members, typed_members, uint_word
from chalicelib.chains.calldata.fee_proxy import reference_tail
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.contracts import RECURRING_PROXY, address_of
from chalicelib.chains.catalogue.networks import require_network

_TRIGGER_PAYMENT = bytes.fromhex("ac7a9e00")
_STRUCT = "SchedulePermit"
PERMIT_MEMBERS = members(
    "address subscriber, address token, address recipient, address feeAddress, uint128 amount, uint128 feeAmount, "
    "uint128 relayerFee, uint32 periodSeconds, uint32 firstPayment, uint8 totalPayments, uint256 nonce, "
    "uint256 deadline, bool strictOrder"
)
"""Names and types in the order of the deployed contract, which is the order of the fields of SchedulePermit."""
TYPES = {_STRUCT: PERMIT_MEMBERS}
DOMAIN_VERSION = "1"
_TEXTS = ("uint128", "uint256")


@frozen
class SchedulePermit:
    """What a payer signs: `total_payments` of `amount` to the recipient, `fee_amount` to the fee address and
    `relayer_fee` to the sender of each, in base units of the token.

    Payment k is allowed from `first_payment` + (k - 1) `period_seconds` until `deadline`, in seconds of Unix time. Two
    schedules that are else equal need different nonces. With `strict_order` payments cannot be passed over.
    """

    subscriber: str
    token: str
    recipient: str
    fee_address: str
    amount: int
    fee_amount: int
    relayer_fee: int
    period_seconds: int
    first_payment: int
    total_payments: int
    nonce: int
    deadline: int
    strict_order: bool

    @property
    def payment_total(self) -> int:
        """What one payment takes from the subscriber, in base units."""
        return self.amount + self.fee_amount + self.relayer_fee


def typed_data(permit: SchedulePermit, network: str) -> dict[str, Any]:
    """What a wallet signs, as ethers takes it: `{domain, types, values}`, numbers of more than 32 bits as text.

    Raises LookupError if the network has no such contract.
    """
    return {
        "domain": _domain(network),
        "types": {name: typed_members(listed) for name, listed in TYPES.items()},
        "values": {name: str(value) if kind in _TEXTS else value for name, kind, value in _members(permit)},
    }


def digest(permit: SchedulePermit, network: str) -> bytes:
    """The 32 bytes that are signed. Raises LookupError as `typed_data` does, OverflowError for a number that its type
    cannot hold."""
    typed = typed_data(permit, network)
    return digest_of_typed_data(
        {"domain": typed["domain"], "types": typed["types"], "primaryType": _STRUCT, "message": typed["values"]}
    )


def trigger(permit: SchedulePermit, network: str, signature: bytes, index: int, reference: bytes) -> Transaction:
    """Makes payment `index` (from 1) of a signed schedule. The contract accepts 27 and 28 as the signature's v.

    Raises LookupError and OverflowError as `digest` does, ValueError for a signature that has not 65 bytes or a
    reference that has not 8.
    """
    if len(signature) != SIGNATURE_BYTES:
        raise ValueError(f"the signature of a schedule has {SIGNATURE_BYTES} bytes")
    words = (member_word(kind, value) for _, kind, value in _members(permit))
    return Transaction(
        to=address_of(RECURRING_PROXY, network),
        data=call(
            _TRIGGER_PAYMENT,
            *words,
            uint_word(0x200),
            member_word("uint8", index),
            uint_word(0x280),
            bytes_tail(signature),
            reference_tail(reference),
        ),
        value=0,
    )


def _domain(network: str) -> dict[str, Any]:
    contract, chain_id = address_of(RECURRING_PROXY, network), require_network(network).chain_id
    return {"name": RECURRING_PROXY, "version": DOMAIN_VERSION, "chainId": chain_id, "verifyingContract": contract}


def _members(permit: SchedulePermit) -> list[tuple[str, str, Any]]:
    """The name, type and value of each member."""
    return [(*member, value) for member, value in zip(PERMIT_MEMBERS, astuple(permit), strict=True)]
