"""Views of the catalogue of tokens."""

from chalicelib.base.errors import NotFound, Problem, ValidationFailed
from chalicelib.chains.catalogue.tokens import find_tokens, token_with_id
from chalicelib.payments.currencies.flows import conversion_facts
from chalicelib.payments.currencies.rules import conversion_routes, filter_tokens
from chalicelib.payments.currencies.schemas import CurrenciesQuery, RouteAnswer, RoutesAnswer, RoutesQuery, TokenAnswer
from chalicelib.platform.http.view import Call


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
    routes = [RouteAnswer.of_way(*route) for route in conversion_routes(token, names, conversion_facts(call.services))]
    if networks:
        return RoutesAnswer(currencyId=currency_id, networks=networks, conversionRoutes=routes)
    return RoutesAnswer(currencyId=currency_id, network=query.network, conversionRoutes=routes)
