"""The names of the lists of payments and requests, and how these name wallets, transactions and currencies."""

PAYMENT, REQUEST = "PAYMENT", "REQUEST"
"""The kinds of these lists."""


def wallet(address: str) -> str:
    """An address as lists name it: EVM addresses in lower case."""
    return address.lower() if address.startswith("0x") else address


def transaction(tx_hash: str) -> str:
    """A transaction's hash as lists name it: in lower case and without 0x, which those of Tron do not have."""
    return tx_hash.lower().removeprefix("0x")


def symbol_of(currency: str) -> str:
    """The symbol of a currency as lists name it."""
    from chalicelib.chains.catalogue.tokens import token_with_id  # most workers write no payment

    token = token_with_id(currency)
    return token.symbol.upper() if token is not None else currency.upper()


def currencies(symbol: str) -> tuple[str, ...]:
    """The ids of all currencies of a symbol: those that `symbol_of` names so, seven at most; itself if none."""
    from chalicelib.chains.catalogue.tokens import find_tokens  # as above

    return tuple(token.id for token in find_tokens(symbol=symbol)) or (symbol,)
