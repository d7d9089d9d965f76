"""What nodes say, as plain values: the result of a dry run, the state of an account, a receipt, blocks."""

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits

T = TypeVar("T")
U = TypeVar("U")


@frozen
class Agreed(Generic[T]):
    """A value that the nodes of a network agree on. Only the functions of agreement.py make it, and `Cursor.ends_until`
    of what they made."""

    value: T

    def map(self, derive: Callable[[T], U]) -> "Agreed[U]":
        """What follows from the value alone."""
        return Agreed(derive(self.value))


@frozen
class StepResult:
    """The result of one transaction. `success` is None if unknown; `gas` is used or estimated (on tron, energy)."""

    success: bool | None
    reason: str | None = None
    gas: int | None = None


@frozen
class AccountReading:
    """An account after the newest block `head`, as the first node says that answers. Prices are in base units of the
    native coin per unit of gas.

    `nonce` is the number of its executed transactions: what is sent next has it. `base_fee` is that of the newest
    block, 0 on networks without one, and `tip` what is suggested on top of it. `others` is what further nodes say;
    `is_of_one` is whether one alone of several has answered.
    """

    head: int
    nonce: int
    balance: BaseUnits
    base_fee: BaseUnits
    tip: BaseUnits
    others: tuple["AccountReading", ...] = ()
    is_of_one: bool = False

    @property
    def executed(self) -> int:
        """The number of transactions that are executed by what at least one node says."""
        return max(each.nonce for each in (self, *self.others))

    @property
    def executed_for_all(self) -> int:
        """The number of transactions that are executed by what every node says."""
        return min(each.nonce for each in (self, *self.others))

    @property
    def newest_head(self) -> int:
        """The newest block that at least one node has."""
        return max(each.head for each in (self, *self.others))

    @property
    def oldest_head(self) -> int:
        """The newest block that every node has."""
        return min(each.head for each in (self, *self.others))

    @property
    def least_balance(self) -> int:
        """The least that one of the nodes says."""
        return min(each.balance for each in (self, *self.others))


@frozen
class Receipt:
    """A transaction in a block. `cost` is what it took from its sender for gas, in base units of the native coin."""

    tx_hash: str
    block_number: int
    block_hash: str
    success: bool
    cost: BaseUnits


@frozen
class NodeView:
    """What a node says now: its newest block, None if it does not answer, and its hashes of some blocks, None for those
    it does not have. `host` is the host of its URL, without keys."""

    host: str
    head: int | None
    hashes: Mapping[int, str | None]


@frozen
class TokenFlow:
    """What a transaction moves of a token: into an account if `inward`, else out of it."""

    token: str
    account: str
    inward: bool


@frozen
class Sought:
    """A transaction whose place in the chain is to be proven. It is deep enough if there is a block at `deep_block`."""

    tx_hash: str
    block_number: int
    deep_block: int
    flow: TokenFlow | None = None


@frozen
class Sight:
    """What one node says of a transaction: the canonical hash at its height, whether it has a block that makes it deep
    enough, and the receipt. None means that the node did not answer.

    `moved` has, in base units, what it has moved by the logs of its receipt and, unless the node refuses to search for
    them, by the logs of its block: nothing unless a flow was asked for.
    """

    block_hash: str | None
    is_deep: bool
    receipt: Receipt | None
    moved: tuple[int, ...] = ()


@frozen
class UsedNonce:
    """A transaction in a block, which an account has signed: its bytes have the hash, and its signature the signer."""

    nonce: int
    tx_hash: str
    block_number: int


@frozen
class TokenBalances:
    """What an account has of tokens after a block, in base units by lower-case address, and its next nonce there."""

    nonce: int
    balances: Mapping[str, int]


@frozen
class ResourcePrices:
    """What Tron burns, in sun: for a unit of energy, for a byte of bandwidth, for an account that a transfer of TRX
    creates (paid by its sender), for a transaction with a memo, and for one with more than one signature."""

    energy: BaseUnits
    bandwidth: BaseUnits
    activation: BaseUnits
    memo: BaseUnits = BaseUnits(0)
    signatures: BaseUnits = BaseUnits(0)


@frozen
class AccountResources:
    """What an account on Tron can spend now: units of energy, bytes of bandwidth that is staked or delegated to it, and
    bytes of the free bandwidth of a day. `is_active` is False, and all else 0, for an address that is no account yet.
    """

    is_active: bool
    energy: int = 0
    bandwidth: int = 0
    free_bandwidth: int = 0


@frozen
class ResourceTotals:
    """What all stakes on Tron give in a day for one resource: `limit` units for `weight` TRX."""

    limit: int
    weight: int


@frozen
class Stake:
    """The part of an account's stake that can be delegated now, in sun, for energy and for bandwidth; and what stakes
    give."""

    energy: BaseUnits
    bandwidth: BaseUnits
    energy_totals: ResourceTotals
    bandwidth_totals: ResourceTotals


@frozen
class Delegated:
    """What an account delegates to another one after a solid block of Tron, in sun; `time` is that of the block, in
    milliseconds."""

    time: int
    energy: BaseUnits = BaseUnits(0)
    bandwidth: BaseUnits = BaseUnits(0)


@frozen
class ReferenceBlock:
    """The newest block of Tron, as transactions refer to it: 2 bytes of its number, 8 of its hash; and its time in
    milliseconds."""

    ref_block_bytes: bytes
    ref_block_hash: bytes
    time: int


@frozen
class CallEnergy:
    """What a call takes on the newest state, in units of energy; `penalty` is the part of it that is charged because
    the contract is used so much (the dynamic energy model)."""

    energy: int
    penalty: int = 0


@frozen
class ResourceReading:
    """What one node says: prices, an account, and each call, None for one that fails on the newest state."""

    prices: ResourcePrices
    account: AccountResources
    calls: tuple[CallEnergy | None, ...]


@frozen
class PlainAddressState:
    """An address for plain transfers at the newest block: what it has of a token, or of the native coin; whether its
    contract is deployed, and whether the network has the contract that deploys it."""

    balance: BaseUnits
    is_deployed: bool
    has_deployer: bool
