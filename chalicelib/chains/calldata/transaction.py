"""The two kinds of contract calls: transactions to sign, and reads."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from chalicelib.base.frozen import frozen

if TYPE_CHECKING:
    from chalicelib.chains.calldata.bridges.across import Deposit


@frozen
class Transaction:
    """A transaction to sign: `to` in EIP-55 or base58 (Tron), `data` as 0x hex, `value` in base units of the coin."""

    to: str
    data: str
    value: int


@frozen
class Call:
    """A read of a contract: its address (hex) and the calldata as 0x hex."""

    to: str
    data: str


@frozen
class LoggedDeposit:
    """A deposit as the source chain's event says it. `deposit.exclusivity` is the deadline of it, in Unix time."""

    deposit: "Deposit"
    deposit_id: int


@frozen
class PaidEvent:
    """What an event of a fee proxy says: keccak256 of the payment reference, the token's address, None for the native
    coin, and the payee; addresses in lower-case hex."""

    topic: str
    token_address: str | None
    payee: str


@frozen
class SentTransaction:
    """A transaction that a node has, signed by `sender`; `to` is None if it creates a contract.

    `block`, its hash and `success` are None while it is in no block. `paid` are the events of payments that the proxies
    emitted in it, `deposits` those that the bridge logged.
    `is_of_one` if one of several nodes alone has it: then it may be in no block, and what it says may be invented.
    """

    sender: str
    to: str | None
    data: str
    nonce: int
    block: int | None = None
    success: bool | None = None
    paid: tuple[PaidEvent, ...] = ()
    block_hash: str | None = None
    deposits: tuple[LoggedDeposit, ...] = ()
    is_of_one: bool = False


def typed_transaction(fields: Mapping[str, Any]) -> Any:
    """A transaction with a type (EIP-2718), as eth_account hashes and encodes it.

    py_ecc, which is imported with it, lets Python recurse 100,000 deep: then JSON of a node that is nested as deeply
    overflows the stack, which ends the process in the middle of the work for all networks. So the limit is put back.
    """
    limit = sys.getrecursionlimit()
    from eth_account.typed_transactions.typed_transaction import TypedTransaction

    sys.setrecursionlimit(limit)
    return TypedTransaction.from_dict(dict(fields))
