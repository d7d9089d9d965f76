"""Many payments in one transaction, through the batch contracts; each emits the event of the fee proxy it goes through.

A payment is a RequestDetail, 11 words, as nothing is converted:

    000  payee
    020  amount
    040  0xe0: where the path begins
    060  0x120: where the reference begins
    080  fee amount
    0a0  0 and 0: what a conversion might spend, and how old its rate might be
    0e0  1: length of the path, then the token (the native coin: its hash)
    120  8: length of the reference, then the reference, 8 bytes and 24 zeros

and `details` are their number, where each begins, and they. BatchConversionPayments takes one ERC-20 token alone with
batchERC20Payments, anything else with batchPayments, in groups: 2 is ERC-20, 3 the native coin.

    9af8a581 | 0x60 | where 0 begins | fee address | details | 0
    92cddb91 | 0x60 | where 0 begins | fee address | number of groups | where each begins | groups | 0
               group: 2 or 3 | 0x40 | details

The 0 is an empty list of paths to USD: the batch fee is not capped. Payments are made, and events emitted, in the order
of the items within a group, ERC-20 before native.

ERC20BatchPayments on Tron takes columns, for one token, and no batch fee of its own:

    c6e6d98b | token | where 4 columns begin: payees, amounts, references, fees (with the fee address after the
    4 places) | the columns, each with its length; references as (where each begins) and (8 | reference)

A batch has one fee address. Without a fee it is 0x..dEaD: BatchConversionPayments transfers the fee of 0 to it, and
tokens refuse the zero address even so. Tron's contract refuses the zero address only for a fee above 0, but older
versions of it behave like the other one, so it gets the same.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from chalicelib.base.addresses import DEAD_ADDRESS, address_bytes
from chalicelib.calldata.abi import WORD, address_word, call, uint_word
from chalicelib.calldata.fee_proxy import reference_tail
from chalicelib.calldata.transaction import Call, Transaction
from chalicelib.catalogue.contracts import BATCH, TRON_BATCH, address_of
from chalicelib.catalogue.networks import network as network_named
from chalicelib.catalogue.tokens import token_with_id

ERC20_GROUP, NATIVE_GROUP = 2, 3

_PAY_ONE_TOKEN = bytes.fromhex("9af8a581")
_PAY_GROUPS = bytes.fromhex("92cddb91")
_PAY_TRON = bytes.fromhex("c6e6d98b")
_BATCH_FEE = bytes.fromhex("f8b823e4")
_BASIS = 10_000
_EMPTY = uint_word(0)


@dataclass(frozen=True)
class BatchItem:
    """One payment: amounts in base units, `token` None for the native coin, an 8-byte reference."""

    token: str | None
    payee: str
    amount: int
    reference: bytes
    fee_amount: int = 0


def pay_batch(
    network: str, items: Sequence[BatchItem], fee_address: str | None = None, batch_fee_bps: int = 0
) -> Transaction:
    """Pays all items or none; the value is what `token_debits` has for the native coin.

    The batch contract needs the debits of the tokens approved. Its batch fee goes to the fee address too, and without
    one is lost at 0x..dEaD. The fee address must not be a contract when the native coin is paid. Raises LookupError
    where the contract is not deployed, ValueError without items and for a fee without a real address.
    """
    to, receiver = address_of(BATCH, network), _receiver(items, fee_address, batch_fee_bps)
    debits = token_debits(items, batch_fee_bps)
    if None not in debits and len(debits) == 1:
        return Transaction(to, _with_paths(_PAY_ONE_TOKEN, receiver, _details(network, items)), 0)
    groups = []
    for number, members in (
        (ERC20_GROUP, [item for item in items if item.token is not None]),
        (NATIVE_GROUP, [item for item in items if item.token is None]),
    ):
        if members:
            groups.append(uint_word(number) + uint_word(2 * WORD) + _details(network, members))
    return Transaction(to, _with_paths(_PAY_GROUPS, receiver, _array(groups)), debits.get(None, 0))


def pay_tron_batch(network: str, items: Sequence[BatchItem], fee_address: str | None = None) -> Transaction:
    """Pays all items, in one TRC-20 token, or none; the batch contract needs the debit approved.

    Raises as `pay_batch`, and ValueError for several tokens or the native coin.
    """
    receiver = _receiver(items, fee_address)
    (token, *others) = {item.token for item in items}
    if token is None or others:
        raise ValueError("a batch on Tron pays one TRC-20 token")
    columns = (
        _column(address_word(item.payee) for item in items),
        _column(uint_word(item.amount) for item in items),
        _array([reference_tail(item.reference) for item in items]),
        _column(uint_word(item.fee_amount) for item in items),
    )
    places = _places(columns, 6 * WORD)
    return Transaction(
        address_of(TRON_BATCH, network),
        call(_PAY_TRON, address_word(token), *places, address_word(receiver), *columns),
        0,
    )


def batch_fee_of(network: str) -> Call:
    """Asks the batch contract for its own fee in basis points of the amounts; the answer is one uint256."""
    return Call(address_of(BATCH, network), call(_BATCH_FEE))


def batch_fee(amounts: int, batch_fee_bps: int) -> int:
    """The batch contract's own fee, in base units, on the sum of the amounts in one token, their fees left out.

    The contract may take less: nothing once its limit in USD is 0.
    """
    return amounts * batch_fee_bps // _BASIS


def token_debits(items: Iterable[BatchItem], batch_fee_bps: int = 0) -> dict[str | None, int]:
    """What a batch takes in base units of each token (None: the native coin), batch fee included.

    Also what each token has to be approved for. In the order, and the spelling, of each token's first item.
    """
    by_token: dict[bytes | None, list[BatchItem]] = {}
    for item in items:
        by_token.setdefault(None if item.token is None else address_bytes(item.token), []).append(item)
    debits = {}
    for group in by_token.values():
        amounts = sum(item.amount for item in group)
        fees = sum(item.fee_amount for item in group)
        debits[group[0].token] = amounts + fees + batch_fee(amounts, batch_fee_bps)
    return debits


def _receiver(items: Sequence[BatchItem], fee_address: str | None, batch_fee_bps: int = 0) -> str:
    """Who gets the fees: nobody's address when there are none."""
    if not items:
        raise ValueError("a batch needs payments")
    real = fee_address if fee_address and any(address_bytes(fee_address)) else None
    if any(item.fee_amount for item in items):
        if real is None:
            raise ValueError("a fee needs the address that receives it")
        return real
    return real if real and batch_fee_bps else DEAD_ADDRESS


def _with_paths(selector: bytes, receiver: str, payments: bytes) -> str:
    """(details or groups, no paths to USD, fee address)"""
    places = _places((payments, _EMPTY), 3 * WORD)
    return call(selector, *places, address_word(receiver), payments, _EMPTY)


def _details(network: str, items: Sequence[BatchItem]) -> bytes:
    return _array([_detail(network, item) for item in items])


def _detail(network: str, item: BatchItem) -> bytes:
    return b"".join(
        (
            address_word(item.payee),
            uint_word(item.amount),
            uint_word(7 * WORD),
            uint_word(9 * WORD),
            uint_word(item.fee_amount),
            _EMPTY,
            _EMPTY,
            uint_word(1),
            address_word(native_hash(network) if item.token is None else item.token),
            reference_tail(item.reference),
        )
    )


def native_hash(network: str) -> str:
    """The hash that stands for a network's native coin in a path. Raises LookupError where none is invoiced."""
    chain = network_named(network)
    coin = token_with_id(chain.native_currency_id) if chain and chain.native_currency_id else None
    if coin is None:
        raise LookupError(f"{network} has no native currency")
    return coin.hash


def _array(members: Sequence[bytes]) -> bytes:
    """An array of what has no fixed size: where each member begins is counted from after the length."""
    return b"".join((uint_word(len(members)), *_places(members, WORD * len(members)), *members))


def _column(words: Iterable[bytes]) -> bytes:
    """An array of single words."""
    joined = b"".join(words)
    return uint_word(len(joined) // WORD) + joined


def _places(parts: Iterable[bytes], first: int) -> list[bytes]:
    """Where parts that follow each other begin, the first at `first`."""
    places = []
    for part in parts:
        places.append(uint_word(first))
        first += len(part)
    return places
