"""The two kinds of contract calls: transactions to sign, and reads."""


from chalicelib.base.frozen import frozen


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
