"""Views of the catalogue of tokens."""

from typing import Annotated, Self

from pydantic import Field, field_validator

from chalicelib.base.errors import NotFound, Problem, ValidationFailed
from chalicelib.chains.catalogue.tokens import Token, find_tokens, token_with_id
from chalicelib.payments.currencies.flows import conversion_facts
from chalicelib.payments.currencies.rules import Way, conversion_routes, filter_tokens
from chalicelib.platform.http.fields import form
from chalicelib.platform.http.schemas import Input, Output, rule, unsent
from chalicelib.platform.http.view import Call


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


class RoutesAnswer(Output):
    """`networks` is set if the query has it, else `network`."""

    currencyId: str
    network: str | None = Field(default_factory=unsent, description="As in the query; null without one")
    networks: list[str] | None = Field(default=None, description="As in the query")
    conversionRoutes: list[RouteAnswer]


def list_currencies(call: Call[None, CurrenciesQuery]) -> list[TokenAnswer] | TokenAnswer:
    query = call.query
    first_only = query.firstOnly == "true"
    if first_only and not (query.network and query.symbol):
        message = "can only be used when both network and symbol are provided"
        raise ValidationFailed((Problem(("firstOnly",), message),))
    tokens = filter_tokens(query.network, query.symbol, query.id)
    if not tokens:
        raise NotFound("Token not found")
    if first_only or query.id is not None:
        return TokenAnswer.of(tokens[0])
    return [TokenAnswer.of(token) for token in tokens]


def list_conversion_routes(call: Call[None, RoutesQuery]) -> RoutesAnswer:
    currency_id, query = call.path["currency_id"], call.query
    token = token_with_id(currency_id)
    networks = None if query.networks is None else query.networks.split(",")
    names = networks or (None if query.network is None else [query.network])
    if token is None or (names is not None and not any(find_tokens(name) for name in names)):
        raise NotFound("Token not found")
    routes = [
        RouteAnswer(**TokenAnswer.of(each).model_dump(exclude_unset=True), way=way)
        for each, way in conversion_routes(token, names, conversion_facts(call.services))
    ]
    if networks:
        return RoutesAnswer(currencyId=currency_id, networks=networks, conversionRoutes=routes)
    return RoutesAnswer(currencyId=currency_id, network=query.network, conversionRoutes=routes)
