"""Single payments through the fee proxies, which pay payee and fee and emit an event with the reference.

ERC20FeeProxy.transferFromWithReferenceAndFee (EVM and Tron), 4 + 8 words of 32 bytes:

    c219a14d
    000  token
    020  payee
    040  amount
    060  0xc0: offset of the reference
    080  fee amount
    0a0  fee address
    0c0  8: length of the reference
    0e0  reference, 8 bytes and 24 zeros

EthereumFeeProxy.transferWithReferenceAndFee, 4 + 6 words; the payee receives the value minus the fee:

    b868980b
    000  payee
    020  0x80: offset of the reference
    040  fee amount
    060  fee address
    080  8: length of the reference
    0a0  reference, 8 bytes and 24 zeros

Without a fee the fee address is zero: to any other address the native proxy would send 0, which reverts if it is a
contract. A fee to the zero address is refused, because it would be in the event but would not be paid.
"""

from chalicelib.base.addresses import ZERO_ADDRESS, address_bytes
from chalicelib.chains.calldata.abi import address_word, bytes_tail, call, uint_word
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.contracts import ERC20_FEE_PROXY, NATIVE_FEE_PROXY, address_of

_PAY_ERC20 = bytes.fromhex("c219a14d")
_PAY_NATIVE = bytes.fromhex("b868980b")
REFERENCE_LENGTH = 8


def pay_erc20(
    network: str,
    *,
    token: str,
    payee: str,
    amount: int,
    reference: bytes,
    fee_amount: int = 0,
    fee_address: str | None = None,
) -> Transaction:
    """Pays `amount` base units to the payee and `fee_amount` in addition to the fee address.

    The proxy needs an approval of the sum. Raises LookupError if the network has no such proxy, ValueError for a fee
    without a fee address.
    """
    return Transaction(
        to=address_of(ERC20_FEE_PROXY, network),
        data=call(
            _PAY_ERC20,
            address_word(token),
            address_word(payee),
            uint_word(amount),
            uint_word(0xC0),
            uint_word(fee_amount),
            fee_word(fee_amount, fee_address),
            reference_tail(reference),
        ),
        value=0,
    )


def pay_native(
    network: str,
    *,
    payee: str,
    amount: int,
    reference: bytes,
    fee_amount: int = 0,
    fee_address: str | None = None,
) -> Transaction:
    """Pays `amount` of the native coin to the payee and `fee_amount` to the fee address; the value is their sum.

    The fee address must not be a contract. Raises the same errors as `pay_erc20`.
    """
    return Transaction(
        to=address_of(NATIVE_FEE_PROXY, network),
        data=call(
            _PAY_NATIVE,
            address_word(payee),
            uint_word(0x80),
            uint_word(fee_amount),
            fee_word(fee_amount, fee_address),
            reference_tail(reference),
        ),
        value=amount + fee_amount,
    )


def fee_word(fee_amount: int, fee_address: str | None) -> bytes:
    """The fee address, zero if there is no fee. Raises ValueError for a fee without an address."""
    if fee_amount == 0:
        return address_word(ZERO_ADDRESS)
    if fee_address is None or not any(address_bytes(fee_address)):
        raise ValueError("a fee needs the address that receives it")
    return address_word(fee_address)


def reference_tail(reference: bytes) -> bytes:
    """The tail of a payment reference as a `bytes` argument. Raises ValueError unless it has 8 bytes."""
    if len(reference) != REFERENCE_LENGTH:
        raise ValueError(f"a payment reference has {REFERENCE_LENGTH} bytes")
    return bytes_tail(reference)
