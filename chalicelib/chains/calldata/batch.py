"""Many payments in one transaction, through the batch contracts. Each payment emits the event of its fee proxy.

A payment is a RequestDetail of 10 words and one for each currency of its path:

    000  payee
    020  amount
    040  0xe0: offset of the path
    060  offset of the reference
    080  fee amount
    0a0  0 and 0, or the conversion's maximum to spend and the maximum age of its rate in seconds
    0e0  1: length of the path, then the token (for the native coin its hash); or the path of the conversion
         8: length of the reference, then the reference, 8 bytes and 24 zeros

Amount and fee of a payment that is converted are in the invoice currency (conversions/proxy.py).

`details` is an array of them: their number, their offsets, then the payments. On EVM networks BatchConversionPayments
pays one ERC-20 token by batchERC20Payments and everything else by batchPayments, in groups (0: converted to ERC-20,
2: ERC-20, 3: native coin, 4: converted to the native coin):

    9af8a581 | 0x60 | offset of the last word | fee address | details | 0
    92cddb91 | 0x60 | offset of the last word | fee address | number of groups | their offsets | groups | 0
               group: its kind | 0x40 | details

The last word is an empty list of paths to USD, so that the batch fee has no maximum in USD. Payments are made in the
order of the items within a group, the groups in the order of their numbers: the contract returns the rest of the value
after group 4, and after group 3 only where it is the last. Of tokens to convert it takes the maximum to spend and
returns the rest. What limits a conversion to the native coin is not its own maximum, but what is left of the value.

ERC20BatchPayments on Tron pays one token, takes columns, and has no batch fee:

    c6e6d98b | token | offsets of payees, amounts, references and fees | fee address | the four columns
               each column begins with its length; references are the offsets of all, then 8 | reference for each

A batch has one fee address. Without fees it is 0x..dEaD, because BatchConversionPayments transfers the fee even if it
is 0, and tokens refuse transfers to the zero address. Older versions of the Tron contract do the same.
"""

from collections.abc import Iterable, Sequence

from chalicelib.base.addresses import DEAD_ADDRESS, address_bytes
from chalicelib.base.frozen import frozen
from chalicelib.chains.calldata.abi import WORD, address_word, call, uint_word
from chalicelib.chains.calldata.conversions.proxy import Conversion, check_end, path_tail
from chalicelib.chains.calldata.fee_proxy import reference_tail
from chalicelib.chains.calldata.transaction import Call, Transaction
from chalicelib.chains.catalogue.contracts import BATCH, TRON_BATCH, address_of
from chalicelib.chains.catalogue.networks import find_network as network_named
from chalicelib.chains.catalogue.tokens import token_with_id

ERC20_CONVERTED_GROUP, ERC20_GROUP, NATIVE_GROUP, NATIVE_CONVERTED_GROUP = 0, 2, 3, 4

_PAY_ONE_TOKEN = bytes.fromhex("9af8a581")
_PAY_GROUPS = bytes.fromhex("92cddb91")
_PAY_TRON = bytes.fromhex("c6e6d98b")
_BATCH_FEE = bytes.fromhex("f8b823e4")
_BASIS = 10_000
_EMPTY = uint_word(0)


@frozen
class BatchItem:
    """One payment: amounts in base units, `token` None for the native coin, a reference of 8 bytes.

    With a conversion, `token` is what is paid, and the amounts are in the invoice currency (`ConvertedPayment`).
    """

    token: str | None
    payee: str
    amount: int
    reference: bytes
    fee_amount: int = 0
    conversion: Conversion | None = None

    @property
    def debit(self) -> int:
        """The most base units of the token that the payment takes, without the batch contract's own fee."""
        return self.amount + self.fee_amount if self.conversion is None else self.conversion.max_to_spend

    @property
    def basis(self) -> int:
        """The base units of the token that the batch contract's own fee is a part of, at most."""
        return self.amount if self.conversion is None else self.conversion.max_to_spend

    @property
    def group(self) -> int:
        """The number of the payment's group in batchPayments."""
        if self.conversion is None:
            return NATIVE_GROUP if self.token is None else ERC20_GROUP
        return NATIVE_CONVERTED_GROUP if self.token is None else ERC20_CONVERTED_GROUP


def pay_batch(
    network: str, items: Sequence[BatchItem], fee_address: str | None = None, batch_fee_bps: int = 0
) -> Transaction:
    """Pays all items or none. The transaction's value is the native coin's debit of `token_debits`.

    The batch contract needs an approval of each token's debit. Its own fee is also paid to the fee address, or to
    0x..dEaD if there is none. If the native coin is paid, the fee address must not be a contract. Raises LookupError if
    the network has no batch contract, ValueError without items, for a fee without a fee address, or for a conversion to
    another currency than that of its item.
    """
    to, receiver = address_of(BATCH, network), _fee_receiver(items, fee_address, batch_fee_bps)
    debits = token_debits(items, batch_fee_bps)
    by_group = {number: [item for item in items if item.group == number] for number in sorted({i.group for i in items})}
    if len(debits) == 1 and list(by_group) == [ERC20_GROUP]:
        return Transaction(to, _with_paths(_PAY_ONE_TOKEN, receiver, _details(network, items)), 0)
    groups = [
        uint_word(number) + uint_word(2 * WORD) + _details(network, members) for number, members in by_group.items()
    ]
    return Transaction(to, _with_paths(_PAY_GROUPS, receiver, _array(groups)), debits.get(None, 0))


def pay_tron_batch(network: str, items: Sequence[BatchItem], fee_address: str | None = None) -> Transaction:
    """Pays all items, in one TRC-20 token, or none. The batch contract needs an approval of the debit.

    Raises as `pay_batch`, and ValueError for several tokens, the native coin or a conversion.
    """
    receiver = _fee_receiver(items, fee_address)
    (token, *others) = {item.token for item in items}
    if token is None or others or any(item.conversion for item in items):
        raise ValueError("a batch on Tron pays one TRC-20 token")
    columns = (
        _column(address_word(item.payee) for item in items),
        _column(uint_word(item.amount) for item in items),
        _array([reference_tail(item.reference) for item in items]),
        _column(uint_word(item.fee_amount) for item in items),
    )
    offsets = _offsets(columns, 6 * WORD)
    return Transaction(
        address_of(TRON_BATCH, network),
        call(_PAY_TRON, address_word(token), *offsets, address_word(receiver), *columns),
        0,
    )


def batch_fee_of(network: str) -> Call:
    """Reads the batch contract's own fee, in basis points of the amounts: one uint256."""
    return Call(address_of(BATCH, network), call(_BATCH_FEE))


def batch_fee(amounts: int, batch_fee_bps: int) -> int:
    """The batch contract's own fee in base units, for the sum of the amounts in one token (without the items' fees).

    This is the most it takes: it takes less where it has a limit in USD.
    """
    return amounts * batch_fee_bps // _BASIS


def token_debits(items: Iterable[BatchItem], batch_fee_bps: int = 0) -> dict[str | None, int]:
    """The base units of each token (None: the native coin) that a batch takes, including the batch fee.

    This is also the amount to approve; with conversions it is the most that is taken. Tokens have the order and the
    spelling of their first items.
    """
    by_token: dict[bytes | None, list[BatchItem]] = {}
    for item in items:
        by_token.setdefault(None if item.token is None else address_bytes(item.token), []).append(item)
    debits = {}
    for group in by_token.values():
        own_fee = batch_fee(sum(item.basis for item in group), batch_fee_bps)
        debits[group[0].token] = sum(item.debit for item in group) + own_fee
    return debits


def _fee_receiver(items: Sequence[BatchItem], fee_address: str | None, batch_fee_bps: int = 0) -> str:
    """The address that receives the fees: 0x..dEaD if there are none."""
    if not items:
        raise ValueError("a batch needs payments")
    nonzero = fee_address if fee_address and any(address_bytes(fee_address)) else None
    if any(item.fee_amount for item in items):
        if nonzero is None:
            raise ValueError("a fee needs the address that receives it")
        return nonzero
    return nonzero if nonzero and batch_fee_bps else DEAD_ADDRESS


def _with_paths(selector: bytes, receiver: str, payments: bytes) -> str:
    """Calldata with the arguments (details or groups, no paths to USD, fee address)."""
    offsets = _offsets((payments, _EMPTY), 3 * WORD)
    return call(selector, *offsets, address_word(receiver), payments, _EMPTY)


def _details(network: str, items: Sequence[BatchItem]) -> bytes:
    return _array([_detail(network, item) for item in items])


def _detail(network: str, item: BatchItem) -> bytes:
    conversion, currency = item.conversion, native_hash(network) if item.token is None else item.token
    if conversion is not None:
        check_end(conversion, currency)
    path = path_tail(conversion.path if conversion else (currency,))
    return b"".join(
        (
            address_word(item.payee),
            uint_word(item.amount),
            uint_word(7 * WORD),
            uint_word(7 * WORD + len(path)),
            uint_word(item.fee_amount),
            uint_word(conversion.max_to_spend) if conversion else _EMPTY,
            uint_word(conversion.max_rate_age) if conversion else _EMPTY,
            path,
            reference_tail(item.reference),
        )
    )


def native_hash(network: str) -> str:
    """The hash that stands for a network's native coin in a path. Raises LookupError if it is not listed."""
    chain = network_named(network)
    coin = token_with_id(chain.native_currency_id) if chain and chain.native_currency_id else None
    if coin is None:
        raise LookupError(f"{network} has no native currency")
    return coin.hash


def _array(members: Sequence[bytes]) -> bytes:
    """An array of members of a dynamic type: length, offsets (counted from after the length), members."""
    return b"".join((uint_word(len(members)), *_offsets(members, WORD * len(members)), *members))


def _column(words: Iterable[bytes]) -> bytes:
    """An array of single words."""
    joined = b"".join(words)
    return uint_word(len(joined) // WORD) + joined


def _offsets(parts: Iterable[bytes], first: int) -> list[bytes]:
    """The offsets of consecutive parts, beginning with `first`."""
    offsets = []
    for part in parts:
        offsets.append(uint_word(first))
        first += len(part)
    return offsets
