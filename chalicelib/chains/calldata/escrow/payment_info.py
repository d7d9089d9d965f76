"""What the escrow holds a payment to, and the hashes that name it.

    hash of the terms    keccak256( type hash | the 12 members, a word each )
    payment hash         keccak256( chain id | escrow | hash of the terms )

The contracts call the second paymentInfoHash: it is the topic of every event of a payment, and is the same on no other
chain and in no other escrow. What a payer signs for the collectors names the payment by the same hash with the zero
address as the payer.
"""

from dataclasses import astuple, replace
from typing import Any

from chalicelib.base.addresses import ZERO_ADDRESS, evm_address
from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen
from chalicelib.base.keccak import keccak256
from chalicelib.base.signatures import member_word
from chalicelib.chains.calldata.abi import WORD, address_word, members, uint_word
from chalicelib.chains.catalogue.escrows import EscrowContracts

MEMBERS = members(
    "address operator, address payer, address receiver, address token, uint120 maxAmount, uint48 preApprovalExpiry, "
    "uint48 authorizationExpiry, uint48 refundExpiry, uint16 minFeeBps, uint16 maxFeeBps, address feeReceiver, "
    "uint256 salt"
)
"""Names and types in the order of the contract, which is the order of the fields of PaymentInfo."""
INFO_BYTES = WORD * len(MEMBERS)
MAX_AMOUNT = 2**120 - 1
"""The largest amount of a payment, in base units."""
_TYPE = f"PaymentInfo({','.join(f'{kind} {name}' for name, kind in MEMBERS)})"


@frozen
class PaymentInfo:
    """The terms of a payment, which the contracts hold everybody to.

    `operator` alone may authorize, charge, capture, void and refund; `receiver` gets what is captured, less a fee of
    `min_fee_bps` to `max_fee_bps` (1/10,000) to `fee_receiver`, or to whom the operator names if that is the zero
    address. Up to `max_amount` base units of `token` are taken from `payer` before `pre_approval_expiry`; they can be
    captured before `authorization_expiry`, from which on the payer may reclaim them; refunds end at `refund_expiry`.
    The expiries are seconds of Unix time. `salt` tells payments apart that are else equal.
    """

    operator: str
    payer: str
    receiver: str
    token: str
    max_amount: int
    pre_approval_expiry: int
    authorization_expiry: int
    refund_expiry: int
    min_fee_bps: int
    max_fee_bps: int
    fee_receiver: str
    salt: int


def payment_hash(info: PaymentInfo, contracts: EscrowContracts) -> str:
    """The name of a payment in the escrow of a network: 0x and 64 lower-case digits.

    Raises OverflowError for a number that its type cannot hold.
    """
    terms = keccak256(keccak256(_TYPE.encode()) + encode_info(info))
    return "0x" + keccak256(uint_word(contracts.chain_id) + address_word(contracts.escrow) + terms).hex()


def payer_agnostic_hash(info: PaymentInfo, contracts: EscrowContracts) -> str:
    """The name of a payment with the zero address as its payer: the nonce of what any payer signs for this payment."""
    return payment_hash(replace(info, payer=ZERO_ADDRESS), contracts)


def encode_info(info: PaymentInfo) -> bytes:
    """The struct as an argument: a word for each member. Raises OverflowError as `payment_hash`."""
    return b"".join(member_word(kind, value) for (_, kind), value in zip(MEMBERS, astuple(info), strict=True))


def decode_info(data: bytes) -> PaymentInfo:
    """The terms at the start of `data`, addresses in EIP-55. Raises ValueError unless they are encoded as above."""
    words = (data[start : start + WORD] for start in range(0, INFO_BYTES, WORD))
    try:
        values: list[Any] = [
            evm_address("0x" + word[12:].hex()) if kind == "address" else int.from_bytes(word, "big")
            for (_, kind), word in zip(MEMBERS, words, strict=True)
        ]
        info = PaymentInfo(*values)
        if encode_info(info) == data[:INFO_BYTES]:
            return info
    except (BadRequest, OverflowError):
        pass
    raise ValueError("these are not the terms of a payment")
