"""What of the OpenAPI document clients are made of: groups of methods, and the schemas that these need.

How a method is named, by the path and the id of its operation:

    group     the first segment of the path after the version, in snake case, or what GROUPS calls it
    method    the operation id without the noun of the group; `read` is `get`, `find` is `list`
    pages     an operation with a cursor is `list...`, an iterator; `..._page` returns one page of it

Left out are operations that only a browser's session may call, those that make one, and those of LEFT_OUT.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

GROUPS = {
    "request": "requests",
    "secure-payments": "links",
    "webhook": "webhooks",
    "payer": "payers",
    "payee-destination": "payee_destinations",
    "payouts/recurring": "recurring",
    **dict.fromkeys(("status", "health", "openapi.json", "openapi-3.0.json", ".well-known"), "service"),
}
"""What the client calls a group whose path says it otherwise; by two segments where those are a product."""
LEFT_OUT = ("auth", "provider-events", "pay")
"""By the first segment: sign-in of people, what another service sends, a path of before."""
_OTHER_FORMS = ("excel",)
"""Parameters that ask for another form than JSON."""
_VERBS = {"read": "get", "find": "list"}
_CURSORS = ("cursor", "after")
_CREDENTIALS = ("apiKey", "clientId", "orchestratorKey")
_REFERENCE = "#/components/schemas/"


@dataclass(frozen=True)
class Parameter:
    """A parameter of the query."""

    name: str
    schema: Json
    is_required: bool


@dataclass(frozen=True)
class Page:
    """How the entries of a list are found: the field with them, what they are, and the parameter to go on with."""

    schema: Json
    field: str
    entry: Json
    parameter: str
    is_always: bool
    """False if the operation has other responses, too."""


@dataclass(frozen=True)
class Method:
    """An operation as a method of a client. Schemas are those of the document; None if there is none."""

    group: str
    name: str
    summary: str
    verb: str
    path: str
    path_names: tuple[str, ...]
    query: tuple[Parameter, ...]
    body: Json | None
    needs_body: bool
    result: Json
    takes_key: bool
    """Whether it takes an Idempotency-Key, which makes it safe to repeat."""
    page: Page | None

    @property
    def page_name(self) -> str:
        """What the method is called that returns one page."""
        return f"{self.name}_page" if self.page and self.page.is_always else self.name

    @property
    def list_name(self) -> str:
        """What the iterator is called."""
        return self.name if self.page and self.page.is_always else "list"


def methods_of(document: Json) -> dict[str, list[Method]]:
    """The methods by group, in the order of their names. Raises ValueError if two have the same name."""
    groups: dict[str, list[Method]] = {}
    for path, operations in document["paths"].items():
        for verb, operation in operations.items():
            is_called = any(not way or {*way} & {*_CREDENTIALS} for way in operation["security"])
            if is_called and _segments(path)[0] not in LEFT_OUT:
                made = _method(document, verb.upper(), path, operation)
                groups.setdefault(made.group, []).append(made)
    for group, methods in groups.items():
        names = [name for each in methods for name in {each.page_name, each.list_name if each.page else each.name}]
        if twice := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"{group} has several methods {', '.join(sorted(twice))}")
    return {group: sorted(groups[group], key=lambda each: each.name) for group in sorted(groups)}


def schemas_of(document: Json, groups: dict[str, list[Method]]) -> dict[str, Json]:
    """The named schemas that methods and events need, by name."""
    known, found = document["components"]["schemas"], dict[str, Json]()
    methods = [each for methods in groups.values() for each in methods]
    left = [*event_schemas(document), *(each.result for each in methods), *(each.body for each in methods if each.body)]
    left += [parameter.schema for each in methods for parameter in each.query]
    while left:
        for name in set(_names_in(left.pop())) - found.keys():
            found[name] = known[name]
            left.append(known[name])
    return dict(sorted(found.items()))


def event_schemas(document: Json) -> list[Json]:
    """The bodies of the events that webhooks receive, each once."""
    found = (_json_of(each["post"]["requestBody"]) for each in document["webhooks"].values())
    return list({name_of(each): each for each in found}.values())


def name_of(schema: Json) -> str:
    """The name of the schema that this one refers to; empty if it is none that refers."""
    return str(schema.get("$ref", "")).removeprefix(_REFERENCE)


def _method(document: Json, verb: str, path: str, operation: Json) -> Method:
    group, noun = _group_of(path)
    query = tuple(
        Parameter(each["name"], each["schema"], each["required"])
        for each in operation["parameters"]
        if each["in"] == "query" and each["name"] not in _OTHER_FORMS
    )
    result = _result_of(operation)
    page = _page(document, query, result)
    name = _method_name(operation["operationId"], noun)
    if page and page.is_always and not name.startswith("list"):
        name = "list" if name == "get" else f"list_{name}"
    body = operation.get("requestBody")
    return Method(
        group=group,
        name=name,
        summary=operation["summary"],
        verb=verb,
        path=path,
        path_names=tuple(re.findall(r"{(\w+)}", path)),
        query=query,
        body=_json_of(body) if body else None,
        needs_body=bool(body and body["required"]),
        result=result,
        takes_key=any(each["name"] == "Idempotency-Key" for each in operation["parameters"]),
        page=page,
    )


def _group_of(path: str) -> tuple[str, str]:
    """The group of a path, and the noun of it: `/v2/secure-payments` is of `links`, whose noun is `secure_payment`."""
    segments = _segments(path)
    two = "/".join(segments[:2])
    key, segment = (two, segments[1]) if len(segments) > 1 and two in GROUPS else (segments[0], segments[0])
    words = segment.replace("-", "_")
    group = GROUPS.get(key, words)
    return group, "" if group == "service" else re.sub("ies$", "y", words).removesuffix("s")


def _segments(path: str) -> list[str]:
    """The segments of a path after its version."""
    return re.sub(r"^/v\d+", "", path).strip("/").split("/")


def _method_name(operation_id: str, noun: str) -> str:
    nouns = f"{re.sub('y$', 'ie', noun)}s|{noun}" if noun else "$^"
    name = re.sub(rf"(^|_)({nouns})(?=_|$)", "", operation_id).strip("_").removesuffix("_of")
    verb, _, rest = name.partition("_")
    return "_".join(filter(None, (_VERBS.get(verb, verb), rest))) or operation_id


def _result_of(operation: Json) -> Json:
    """The schema of the response that is no change which waits for approval (202), if there is another one."""
    responses = {status: each for status, each in operation["responses"].items() if status.startswith("2")}
    status = next((each for each in responses if each != "202"), "202")
    return _json_of(responses[status])


def _page(document: Json, query: tuple[Parameter, ...], result: Json) -> Page | None:
    parameter = next((each.name for each in query if each.name in _CURSORS), None)
    if parameter is None:
        return None
    alternatives = result.get("anyOf", [result])
    for each in alternatives:
        fields = document["components"]["schemas"][name_of(each)]["properties"]
        if fields.keys() & {"nextCursor", "pagination"}:
            field, array = next((name, one) for name, one in fields.items() if one.get("type") == "array")
            return Page(each, field, array["items"], parameter, is_always=len(alternatives) == 1)
    return None


def _json_of(described: Json) -> Json:
    schema: Json = described["content"]["application/json"]["schema"]
    return schema


def _names_in(part: Any) -> Iterator[str]:
    """The names of the schemas that a part of the document refers to."""
    if isinstance(part, dict):
        if name := name_of(part):
            yield name
        for each in part.values():
            yield from _names_in(each)
    elif isinstance(part, list):
        for each in part:
            yield from _names_in(each)
