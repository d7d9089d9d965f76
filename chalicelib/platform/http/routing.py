"""Registers the routes of the Chalice app: operations, pages, preflights, and 405 for the other methods of a path.

Only the tables of routes are imported at start. The request pipeline, views and models are imported by the first call.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from chalice.app import Chalice, Response

from chalicelib.platform.http.operation import OPERATIONS, Operation, PageRoute

if TYPE_CHECKING:
    from chalicelib.platform.http.request import HttpRequest
    from chalicelib.platform.services import Services

_PIPELINE = "chalicelib.platform.http.pipeline"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def register_routes(app: Chalice, products: Iterable[ModuleType], services: Callable[[], "Services"]) -> None:
    """Registers the ROUTES of the `routes` modules of products, which are listed by the module of their views, named
    from the folder of the product on. `services` is called by every request."""
    OPERATIONS.clear()
    listed = ((f"{each.__package__}.{views}", routes) for each in products for views, routes in each.ROUTES.items())
    for api, routes in listed:
        for route in routes:
            if isinstance(route, Operation):
                OPERATIONS[route], methods = api, [route.method]
            else:
                methods = list(route.methods)
            handler = _handler(app, api, route, services)
            app.route(route.path, methods=methods, name=route.name, content_types=["*/*"])(handler)
    _register_other_methods(app, services)


def _handler(
    app: Chalice, api: str, route: Operation | PageRoute, services: Callable[[], "Services"]
) -> Callable[..., Response]:
    steps = "handle_page" if isinstance(route, PageRoute) else "handle"

    def handle(**path_parameters: str) -> Response:
        assembled, run = services(), _find(_PIPELINE, steps)
        response: Response = run(route, _find(api, route.name), assembled, _request(app, assembled, path_parameters))
        return response

    return handle


@cache
def _find(module: str, name: str) -> Any:
    return getattr(import_module(module), name)


def _register_other_methods(app: Chalice, services: Callable[[], "Services"]) -> None:
    """Registers preflights, and 405 for every other method of a known path, which API Gateway would answer with 403."""
    allowed = {path: sorted({*entries, "OPTIONS"}) for path, entries in app.routes.items()}
    with_session = {operation.path for operation in OPERATIONS if operation.with_session}

    def preflight(**_: str) -> Response:
        from chalicelib.platform.http import pipeline

        path = _path(app)
        return pipeline.preflight(services(), _request(app, services(), {}), allowed[path], path in with_session)

    def method_not_allowed(**_: str) -> Response:
        from chalicelib.platform.http import pipeline

        return pipeline.refuse_method(services(), _request(app, services(), {}), allowed[_path(app)])

    for path, methods in allowed.items():
        others = [method for method in (*METHODS, "HEAD") if method not in methods]
        app.route(path, methods=["OPTIONS"], name="preflight", content_types=["*/*"])(preflight)
        app.route(path, methods=others, name="method_not_allowed", content_types=["*/*"])(method_not_allowed)


def _request(app: Chalice, services: "Services", path_parameters: Mapping[str, str]) -> "HttpRequest":
    from chalicelib.platform.http.request import request_of

    return request_of(services.settings, app.current_request, path_parameters)


def _path(app: Chalice) -> str:
    """The path of the route that is called."""
    current: Any = app.current_request
    path: str = current.context["resourcePath"]
    return path
