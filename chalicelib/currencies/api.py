"""The catalogue of tokens."""

from chalice import Blueprint

from chalicelib.access.modes import Mode
from chalicelib.base.errors import NotFound, Problem, ValidationFailed
from chalicelib.catalogue.tokens import Token, find_tokens, token_with_id
from chalicelib.currencies.rules import conversion_routes
from chalicelib.currencies.schemas import CurrenciesQuery, RoutesAnswer, RoutesQuery, TokenAnswer
from chalicelib.http.edge import operation
from chalicelib.http.operation import Call

blueprint = Blueprint(__name__)
_MODES = (Mode.PUBLIC, Mode.API_KEY, Mode.CLIENT_ID)


@operation(
    blueprint,
    "GET",
    "/v2/currencies",
    summary="List tokens, or find one",
    modes=_MODES,
    query=CurrenciesQuery,
    answer=list[TokenAnswer] | TokenAnswer,
    errors=(400, 401, 403, 404),
    lists_problems=True,
)
def list_currencies(call: Call) -> TokenAnswer | list[TokenAnswer]:
    query: CurrenciesQuery = call.query
    first_only = query.firstOnly == "true"
    if first_only and not (query.network and query.symbol):
        message = "firstOnly can only be used when both network and symbol are provided"
        raise ValidationFailed((Problem(("firstOnly",), message),), listed=True)
    tokens = _found(query)
    if not tokens:
        raise NotFound("Token not found")
    if first_only or query.id is not None:
        return TokenAnswer.of(tokens[0])
    return [TokenAnswer.of(token) for token in tokens]


@operation(
    blueprint,
    "GET",
    "/v2/currencies/{currency_id}/conversion-routes",
    summary="List what an invoice currency can be paid in",
    modes=_MODES,
    query=RoutesQuery,
    answer=RoutesAnswer,
    errors=(400, 401, 403, 404),
)
def list_conversion_routes(call: Call) -> RoutesAnswer:
    asked = call.path["currency_id"]
    token = token_with_id(asked)
    if token is None:
        raise NotFound("Token not found")
    query: RoutesQuery = call.query
    networks = query.networks.split(",") if query.networks else None
    names = tuple(networks or ([query.network] if query.network else ())) or None
    routes = [TokenAnswer.of(route) for route in conversion_routes(token, names)]
    if networks:
        return RoutesAnswer(currencyId=asked, networks=networks, conversionRoutes=routes)
    return RoutesAnswer(currencyId=asked, network=query.network, conversionRoutes=routes)


def _found(query: CurrenciesQuery) -> tuple[Token, ...]:
    if query.id is None:
        return find_tokens(query.network, query.symbol)
    token = token_with_id(query.id)
    if query.network is None and query.symbol is None:
        return (token,) if token is not None else ()
    matches = token is not None and token in find_tokens(query.network, query.symbol)
    return (token,) if token is not None and matches else ()
