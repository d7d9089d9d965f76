"""Views of the catalogue of tokens."""

from chalicelib.base.errors import NotFound, Problem, ValidationFailed
from chalicelib.catalogue.tokens import token_with_id
from chalicelib.currencies.rules import conversion_routes, filtered
from chalicelib.currencies.schemas import CurrenciesQuery, RoutesAnswer, RoutesQuery, TokenAnswer
from chalicelib.http.view import Call


def list_currencies(call: Call[None, CurrenciesQuery]) -> list[TokenAnswer] | TokenAnswer:
    query = call.query
    first_only = query.firstOnly == "true"
    if first_only and not (query.network and query.symbol):
        message = "firstOnly can only be used when both network and symbol are provided"
        raise ValidationFailed((Problem(("firstOnly",), message),), listed=True)
    tokens = filtered(query.network, query.symbol, query.id)
    if not tokens:
        raise NotFound("Token not found")
    if first_only or query.id is not None:
        return TokenAnswer.of(tokens[0])
    return [TokenAnswer.of(token) for token in tokens]


def list_conversion_routes(call: Call[None, RoutesQuery]) -> RoutesAnswer:
    currency_id = call.path["currency_id"]
    token = token_with_id(currency_id)
    if token is None:
        raise NotFound("Token not found")
    query = call.query
    networks = query.networks.split(",") if query.networks else None
    names = tuple(networks or ([query.network] if query.network else ())) or None
    routes = [TokenAnswer.of(route) for route in conversion_routes(token, names)]
    if networks:
        return RoutesAnswer(currencyId=currency_id, networks=networks, conversionRoutes=routes)
    return RoutesAnswer(currencyId=currency_id, network=query.network, conversionRoutes=routes)
