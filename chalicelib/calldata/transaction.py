"""What a wallet sends, and what a node is asked."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Transaction:
    """A transaction to sign: `to` in EIP-55 or base58 (Tron), `data` as 0x hex, `value` in base units of the coin."""

    to: str
    data: str
    value: int


@dataclass(frozen=True)
class Call:
    """A read: the contract that is asked (hex address) and the 0x hex question."""

    to: str
    data: str
