"""Models of currencies and conversion routes."""

from typing import Self

from pydantic import field_validator

from chalicelib.catalogue.tokens import Token
from chalicelib.http.schemas import Input, Output, rule


class CurrenciesQuery(Input):
    network: str | None = None
    symbol: str | None = None
    id: str | None = None
    firstOnly: str | None = None

    @field_validator("firstOnly")
    @classmethod
    def _true_or_false(cls, value: str | None) -> str | None:
        if value not in (None, "true", "false"):
            raise rule("must be 'true' or 'false' if provided")
        return value


class RoutesQuery(Input):
    network: str | None = None
    networks: str | None = None


class TokenAnswer(Output):
    """One currency. `hash` equals `address` for ERC-20 tokens and is absent for TRC-20 ones."""

    id: str
    name: str
    symbol: str
    decimals: int
    address: str
    network: str
    type: str
    hash: str | None = None
    chainId: int

    @classmethod
    def of(cls, token: Token) -> Self:
        hash_field = {} if token.type == "TRC20" else {"hash": token.hash}
        return cls(
            id=token.id,
            name=token.name,
            symbol=token.symbol,
            decimals=token.decimals,
            address=token.address,
            network=token.network,
            type=token.type,
            chainId=token.chain_id,
            **hash_field,
        )


class RoutesAnswer(Output):
    """`networks` is set if the query has it, else `network`."""

    currencyId: str
    network: str | None = None
    networks: list[str] | None = None
    conversionRoutes: list[TokenAnswer]
