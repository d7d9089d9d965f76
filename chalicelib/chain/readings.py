"""What nodes say, as plain values: the result of a dry run, the state of an account, a receipt, blocks."""

from collections.abc import Mapping

from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits


@frozen
class StepResult:
    """The result of one transaction. `success` is None if unknown; `gas` is used or estimated (on tron, energy)."""

    success: bool | None
    reason: str | None = None
    gas: int | None = None


@frozen
class AccountReading:
    """An account after the newest block `head`. Prices are in base units of the native coin per unit of gas.

    `nonce` is the number of its executed transactions. `base_fee` is that of the newest block, 0 on networks without
    one, and `tip` what the node suggests on top of it.
    """

    head: int
    nonce: int
    balance: BaseUnits
    base_fee: BaseUnits
    tip: BaseUnits


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
