"""The arguments and results of views, and the models that their annotations name.

A view is a function `(call: Call[Body, Query]) -> Response model`. `None` stands for no body or no query, `Body | None`
for an optional body, `Signed[Body]` for one that the view parses itself.
"""

from collections.abc import Callable, Mapping
from dataclasses import field
from datetime import datetime
from functools import cache
from types import NoneType
from typing import Any, Generic, TypeVar, get_args, get_origin, get_type_hints
from urllib.parse import urlencode

from pydantic import BaseModel

from chalicelib.base.frozen import frozen
from chalicelib.base.ids import Entropy, Source
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.callers import Caller
from chalicelib.platform.http.request import HttpRequest
from chalicelib.platform.http.responses import HttpResponse
from chalicelib.platform.http.schemas import Input
from chalicelib.platform.services import Services

Body = TypeVar("Body", covariant=True)
Query = TypeVar("Query", covariant=True)
T = TypeVar("T", covariant=True)
_FOREVER = "public, max-age=31536000, immutable"


@frozen
class Signed(Generic[T]):
    """A body as it was sent, of the type and size that it has: the view checks a signature of its bytes before it reads
    any of it. `T` is the model that it has then."""

    raw: bytes


@frozen
class Call(Generic[Body, Query]):
    """The argument of a view: services, caller, and the request as typed values. `path` has the decoded parameters.

    A change that has waited for approval is made by the same view. `asked_at` is when it was asked for, which is now
    for all others, and `source` draws the same ids and secrets again that its response showed then.
    """

    services: Services
    caller: Caller
    actor: Actor
    body: Body
    query: Query
    path: Mapping[str, str]
    asked_at: datetime
    entropy: Entropy
    headers: Mapping[str, str] = field(default_factory=dict)
    """By lower-case names."""

    @property
    def source(self) -> Source:
        return Source(self.asked_at, self.entropy)


AnyCall = Call[object, object]
"""The argument of helpers that read neither body nor query."""


def next_url(call: Call[None, BaseModel], path: str, cursor: str | None) -> str | None:
    """The URL of the same call after a cursor; None without one."""
    if cursor is None:
        return None
    given = {each: getattr(call.query, each) for each in call.query.model_fields_set}
    return f"{call.services.settings.api_url}{path}?{urlencode({**given, 'cursor': cursor})}"


@frozen
class Reply(Generic[T]):
    """A result of a view with more headers, such as Set-Cookie."""

    value: T
    headers: Mapping[str, str]


View = Callable[[Any], Any]


@frozen
class Visit:
    """The argument of a view of a page: the services and the request."""

    services: Services
    request: HttpRequest

    def query(self, name: str) -> str:
        """The first value of a query parameter; empty if there is none."""
        return next(iter(self.request.query.get(name, ())), "")

    def header(self, name: str) -> str:
        return self.request.headers.get(name, "")


def respond_with_file(
    visit: Visit, text: str, version: str, headers: Mapping[str, str], *, has_version_in_path: bool = False
) -> HttpResponse:
    """Returns a file: cacheable for a year if the URL names its version, else to be revalidated; 304 if unchanged.

    The ETag is weak (RFC 9110, 8.8.1): API Gateway may compress the body and leaves these headers as they are.
    """
    tag = f'"{version}"'
    is_named = has_version_in_path or visit.query("v") == version
    all_headers = {
        **headers,
        "ETag": f"W/{tag}",
        "Cache-Control": _FOREVER if is_named else "no-cache",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Vary": "Accept-Encoding",
    }
    known_tags = {each.strip().removeprefix("W/") for each in visit.header("if-none-match").split(",")}
    is_unchanged = bool(known_tags & {tag, "*"})
    return HttpResponse(304, "", all_headers) if is_unchanged else HttpResponse(200, text, all_headers)


PageView = Callable[[Visit], HttpResponse]


@frozen
class Models:
    """The models of a view; None if it has no body or no query. `response` is any type that pydantic supports."""

    body: type[Input] | None
    is_body_optional: bool
    is_body_signed: bool
    query: type[BaseModel] | None
    response: Any


@cache
def models_of(view: View) -> Models:
    """Reads the annotations of a view."""
    hints = get_type_hints(view)
    body, query = get_args(hints["call"])
    is_signed = get_origin(body) is Signed
    body_models = [each for each in get_args(body) or (body,) if each is not NoneType]
    response = hints["return"]
    if get_origin(response) is Reply:
        (response,) = get_args(response)
    if HttpResponse in (arms := get_args(response)):  # a model, or the same as a file
        (response,) = [each for each in arms if each is not HttpResponse]
    return Models(
        body=body_models[0] if body_models else None,
        is_body_optional=len(get_args(body)) > 1,
        is_body_signed=is_signed,
        query=None if query is NoneType else query,
        response=dict if response is HttpResponse else response,
    )
