"""Models of currencies and conversion routes."""

from typing import Annotated, Self

from pydantic import Field, field_validator

from chalicelib.chains.catalogue.tokens import Token
from chalicelib.payments.currencies.rules import Way
from chalicelib.platform.http.fields import form
from chalicelib.platform.http.schemas import Input, Output, rule, unsent


class CurrenciesQuery(Input):
    network: str | None = Field(None, description="A network, one of its other names, or fiat, in any case")
    symbol: str | None = Field(None, description="In any case, such as usdc")
    id: str | None = Field(None, description="One token; the response is that token, not a list")
    firstOnly: Annotated[str, form(enum=["true", "false"])] | None = Field(
        None, description="With network and symbol: the first token that matches, not a list"
    )

    @field_validator("firstOnly")
    @classmethod
    def _true_or_false(cls, value: str | None) -> str | None:
        if value not in (None, "true", "false"):
            raise rule("must be 'true' or 'false' if provided")
        return value


class RoutesQuery(Input):
    network: str | None = Field(None, description="Only routes on this network")
    networks: str | None = Field(None, description="Only routes on these networks, separated by commas")


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
        return cls.from_record(token, **({} if token.type == "TRC20" else {"hash": token.hash}))


class RouteAnswer(TokenAnswer):
    """A currency in which an invoice can be paid."""

    way: Way = Field(
        description=(
            "direct: in the invoice currency itself. on_chain: the network's conversion contracts convert when it is "
            "paid. quoted: the service holds a rate for some minutes"
        )
    )

    @classmethod
    def of_way(cls, token: Token, way: Way) -> Self:
        return cls(**TokenAnswer.of(token).model_dump(exclude_unset=True), way=way)


class RoutesAnswer(Output):
    """`networks` is set if the query has it, else `network`."""

    currencyId: str
    network: str | None = Field(default_factory=unsent, description="As in the query; null without one")
    networks: list[str] | None = Field(default=None, description="As in the query")
    conversionRoutes: list[RouteAnswer]
