"""Payments of an amount in an invoice currency, which the conversion proxies convert at the rate of Chainlink's feeds.

Erc20ConversionProxy.transferFromWithReferenceAndFee, 4 + 11 words of 32 bytes and one for each currency of the path:

    3af2c012
    000  payee
    020  amount, in the invoice currency
    040  0x100: offset of the path
    060  offset of the reference
    080  fee amount, in the invoice currency
    0a0  fee address
    0c0  the most to spend on amount and fee, in base units of the token
    0e0  the maximum age of the oldest rate, in seconds
    100  length of the path, then its currencies; the last is the token
         8: length of the reference, then the reference, 8 bytes and 24 zeros

EthConversionProxy.transferWithReferenceAndFee has the same arguments without the most to spend, which is the value of
the transaction, of which the rest comes back:

    ac473c8a | payee | amount | 0xe0 | offset of the reference | fee amount | fee address | age | path | reference

The proxies round amount and fee down to base units, each by itself, and revert with "Amount to pay is over the user
limit" or, if the value is too small, "transferExactEthWithReferenceAndFee failed"; with an older rate "aggregator rate
is outdated". They do not limit the age where it is 0, so that 0 is refused here.
"""

from collections.abc import Sequence

from chalicelib.base.addresses import same_address
from chalicelib.base.frozen import frozen
from chalicelib.chains.calldata.abi import WORD, address_word, call, uint_word
from chalicelib.chains.calldata.fee_proxy import fee_word, reference_tail
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.contracts import ERC20_CONVERSION_PROXY, NATIVE_CONVERSION_PROXY, address_of

_PAY_ERC20_CONVERTED = bytes.fromhex("3af2c012")
_PAY_NATIVE_CONVERTED = bytes.fromhex("ac473c8a")


@frozen
class Conversion:
    """How an amount is converted: by which path (chains/catalogue/conversions.py), and what the payer accepts.

    `max_to_spend` is in base units of the payment currency and covers the fee; `max_rate_age` is in seconds. Raises
    ValueError for a path without two currencies, or unless both limits are above 0.
    """

    path: tuple[str, ...]
    max_to_spend: int
    max_rate_age: int

    def __post_init__(self) -> None:
        if len(self.path) < 2:
            raise ValueError("a conversion has at least two currencies")
        if self.max_to_spend <= 0 or self.max_rate_age <= 0:
            raise ValueError("a conversion has a limit of what is spent and of the age of its rate")


@frozen
class ConvertedPayment:
    """One payment: amounts in the invoice currency, as the contracts count it (`on_chain_units`)."""

    payee: str
    amount: int
    reference: bytes
    conversion: Conversion
    fee_amount: int = 0
    fee_address: str | None = None


def pay_erc20_converted(network: str, payment: ConvertedPayment) -> Transaction:
    """Pays in the token that ends the path. The proxy needs an approval of the most to spend.

    Raises LookupError if the network has no such proxy, ValueError for a fee without a fee address.
    """
    conversion = payment.conversion
    limits = uint_word(conversion.max_to_spend), uint_word(conversion.max_rate_age)
    to = address_of(ERC20_CONVERSION_PROXY, network)
    return Transaction(to, _data(_PAY_ERC20_CONVERTED, payment, limits), 0)


def pay_native_converted(network: str, payment: ConvertedPayment) -> Transaction:
    """Pays in the native coin, whose hash ends the path. The value is the most to spend.

    The fee address must not be a contract, nor the payer one that refuses the rest. Raises as `pay_erc20_converted`.
    """
    conversion = payment.conversion
    data = _data(_PAY_NATIVE_CONVERTED, payment, (uint_word(conversion.max_rate_age),))
    return Transaction(address_of(NATIVE_CONVERSION_PROXY, network), data, conversion.max_to_spend)


def path_tail(path: Sequence[str]) -> bytes:
    """The tail of a path as an `address[]` argument: its length, then its currencies."""
    return uint_word(len(path)) + b"".join(map(address_word, path))


def check_end(conversion: Conversion, currency: str) -> None:
    """Raises ValueError unless the path ends with this token, or with the hash of this native coin."""
    if not same_address(conversion.path[-1], currency):
        raise ValueError("the path of the conversion ends with another currency")


def _data(selector: bytes, payment: ConvertedPayment, limits: tuple[bytes, ...]) -> str:
    path = path_tail(payment.conversion.path)
    offset = WORD * (6 + len(limits))
    return call(
        selector,
        address_word(payment.payee),
        uint_word(payment.amount),
        uint_word(offset),
        uint_word(offset + len(path)),
        uint_word(payment.fee_amount),
        fee_word(payment.fee_amount, payment.fee_address),
        *limits,
        path,
        reference_tail(payment.reference),
    )
