"""Makes the argument of a view: parses bodies and queries into models, and turns pydantic's errors into sentences."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from chalicelib.base.errors import BadRequest, PayloadTooLarge, Problem, UnsupportedMediaType, ValidationFailed
from chalicelib.platform.access.callers import Caller
from chalicelib.platform.http.request import HttpRequest
from chalicelib.platform.http.schemas import Input
from chalicelib.platform.http.view import AnyCall, Call, Signed, View, models_of
from chalicelib.platform.services import Services

M = TypeVar("M", bound=BaseModel)
MAX_BODY_BYTES = 256 * 1024
_MAX_PROBLEMS = 100  # in a response, so that a body with many errors does not get a response of megabytes


def call_of(view: View, services: Services, caller: Caller, request: HttpRequest) -> AnyCall:
    """The call, now and with fresh entropy. Raises BadRequest, ValidationFailed."""
    models = models_of(view)
    if request.parameters:
        _refuse_zeros(dict(request.parameters))
    body: Input | Signed[Input] | None = None
    if models.is_body_signed:
        body = Signed(request.raw_body)
    elif models.body is not None and (request.raw_body or not models.is_body_optional):
        body = parse_body(request, models.body)
    return Call(
        services=services,
        caller=caller,
        actor=caller.acting(request.ip_address, request.request_id),
        body=body,
        query=parse_query(request, models.query) if models.query else None,
        path=request.parameters,
        asked_at=services.clock(),
        entropy=services.entropy,
        headers=request.headers,
    )


def check_body(request: HttpRequest) -> None:
    """Raises PayloadTooLarge, or UnsupportedMediaType unless a body is declared as JSON, also where it is not read.

    Forms, beacons and `no-cors` requests of foreign pages can send a body of another type or of none (a Blob without a
    type), but not one of this type without a preflight (Fetch, 2.2.2).
    """
    if len(request.raw_body) > MAX_BODY_BYTES:
        raise PayloadTooLarge(f"The body is larger than {MAX_BODY_BYTES // 1024} kB: send less at once")
    content_type = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if request.raw_body and content_type != "application/json":
        raise UnsupportedMediaType("Send the body as JSON, with the header content-type: application/json")


def parse_body(request: HttpRequest, model: type[M]) -> M:
    """The JSON body as the model.

    Raises BadRequest, for an empty body with the fields that are missing, or ValidationFailed. Unlike Python's parser,
    pydantic's refuses lone surrogates, NaN, and nesting so deep that it could end the process.
    """
    if not request.raw_body:
        raise BadRequest(f"The body is missing: send a JSON object with {_fields(model)}")
    try:
        body = from_json(request.raw_body, allow_inf_nan=False)
    except ValueError:
        raise BadRequest("The body is not valid JSON in UTF-8, or nested too deeply") from None
    if not isinstance(body, dict):
        raise BadRequest("The body must be a JSON object")
    return _validate(model, body)


def _fields(model: type[BaseModel]) -> str:
    """The fields that a body must have, or those it may have if none is required."""
    names = _names(model)
    required = [name for name, is_required in names.items() if is_required]
    return ", ".join(required) if required else f"one or more of {', '.join(names)}"


def _names(model: type[BaseModel]) -> dict[str, bool]:
    """The fields of a body or a query, as they are sent, and whether each is required."""
    return {each.alias or name: each.is_required() for name, each in model.model_fields.items()}


def parse_query(request: HttpRequest, model: type[M]) -> M:
    """The query as the model. Raises ValidationFailed, also for a parameter that is given more than once."""
    for name, values in request.query.items():
        if len(values) > 1:
            raise ValidationFailed((Problem((name,), "is given more than once"),))
    return _validate(model, {name: values[0] for name, values in request.query.items()})


def _validate(model: type[M], values: dict[str, Any]) -> M:
    known = {name: values[name] for name in _names(model) if name in values}  # the others are ignored
    _refuse_zeros(known)
    try:
        return model.model_validate(values)
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)[:_MAX_PROBLEMS]
        raise ValidationFailed(tuple(_problem(detail) for detail in details)) from None


def _refuse_zeros(values: dict[str, Any]) -> None:
    """Raises ValidationFailed if a text has U+0000. PostgreSQL stores no such text: whoever keeps events or responses
    there could not keep them."""
    if zeros := list(islice(_with_zero(values, ()), _MAX_PROBLEMS)):
        raise ValidationFailed(tuple(Problem(path, "must not contain the character U+0000") for path in zeros))


def _with_zero(value: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The paths of the texts that have U+0000."""
    if isinstance(value, str) and "\0" in value:
        yield path
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from _with_zero(each, (*path, name))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _with_zero(each, (*path, str(number)))


_SENTENCES = {
    "missing": "is required",
    "string_type": "must be a string",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "list_type": "must be an array",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "string_too_long": "must have at most {max_length} characters",
    "string_too_short": "must have at least {min_length} characters",
    "string_pattern_mismatch": "must match the pattern {pattern}",
    "too_short": "must have at least {min_length} items",
    "too_long": "must have at most {max_length} items",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be one of {expected}",
    "enum": "must be one of {expected}",
    "extra_forbidden": "is not a field of this body",
}


def _problem(detail: Any) -> Problem:
    """A pydantic error as a sentence. The messages of `rule` are used unchanged."""
    path = tuple(str(step) for step in detail["loc"])
    kind = detail["type"]
    if kind in _SENTENCES:
        sentence = re.sub(r"\b1 (character|item)s$", r"1 \1", _SENTENCES[kind].format(**detail.get("ctx", {})))
        return Problem(path, sentence, kind)
    if kind == "rule":
        context = detail.get("ctx", {})
        return Problem((*path, *context.get("fields", ())), detail["msg"], verbatim=context.get("verbatim", False))
    return Problem(path, detail["msg"], kind)
