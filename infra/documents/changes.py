"""Finds the changes between two OpenAPI documents that break clients of the old one.

A client sends what the old document allows and reads what it promises. So a request may only become wider (more
values, less that is required), and a response or an event only narrower, apart from fields that are added to it. Texts,
examples and error statuses do not count; neither does how long or large something is in a response.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
Visited = frozenset[tuple[str, str]]
"""The pairs of models that a comparison is inside of."""
_METHODS = ("get", "put", "post", "patch", "delete")
_LOWER = ("minimum", "exclusiveMinimum", "minLength", "minItems")
_UPPER = ("maximum", "exclusiveMaximum", "maxLength", "maxItems")
_FORMS, _RULES = ("pattern", "format"), ("if", "then", "else", "dependentSchemas", "not")
"""Keywords of which any change, and any addition, can refuse what was allowed."""


def breaking_changes(old: Json, new: Json) -> list[str]:
    """One line for each change, which names the operation and the field; empty if there is none."""
    return list(dict.fromkeys([*_operations(old, new), *_events(old, new)]))


@dataclass(frozen=True)
class _Comparison:
    """Two documents, and whether values of the schemas are sent by clients (a request) or read by them."""

    old: Json
    new: Json
    is_request: bool

    def changes(self, where: str, before: Json, after: Json, visited: Visited = frozenset()) -> Iterator[str]:
        """The breaking changes between two schemas; `visited` ends the recursion of models that contain themselves."""
        names = (before.get("$ref", ""), after.get("$ref", ""))
        if names[0] and names in visited:
            return
        visited = visited | {names}
        before, after = _resolve_reference(self.old, before), _resolve_reference(self.new, after)
        were, are = _alternatives(before), _alternatives(after)
        if max(len(were), len(are)) > 1:
            yield from self._alternatives(where, were, are, visited)
            return
        yield from self._values(where, before, after)
        yield from self._fields(where, before, after, visited)
        if "items" in before and "items" in after:
            yield from self.changes(f"{where}[]", before["items"], after["items"], visited)

    def _alternatives(self, where: str, before: list[Json], after: list[Json], visited: Visited) -> Iterator[str]:
        """Each alternative that clients rely on has to have one on the other side that breaks nothing."""
        if self.is_request:
            for each in before:
                if all(any(self.changes(where, each, other, visited)) for other in after):
                    yield f"{where}: {_name(each)} is no longer accepted"
        else:
            for each in after:
                if all(any(self.changes(where, other, each, visited)) for other in before):
                    yield f"{where}: may now be {_name(each)}"

    def _values(self, where: str, before: Json, after: Json) -> Iterator[str]:
        """Types, enums and bounds."""
        narrow, wide = (after, before) if self.is_request else (before, after)
        types, allowed = _types(wide), _types(narrow)
        if allowed and not (types and types <= allowed):
            yield f"{where}: its type was {_types(before) or 'any'} and is {_types(after) or 'any'}"
        values, listed = _list_values(wide), _list_values(narrow)
        if listed and not (values and values <= listed):
            were, are = (sorted(_list_values(each)) or "any" for each in (before, after))
            yield f"{where}: its values were {were} and are {are}"
        if not self.is_request:
            return
        for keyword in _LOWER:
            if keyword in after and after[keyword] > before.get(keyword, float("-inf")):
                yield f"{where}: {keyword} is {after[keyword]} now"
        for keyword in _UPPER:
            if keyword in after and after[keyword] < before.get(keyword, float("inf")):
                yield f"{where}: {keyword} is {after[keyword]} now"
        for keyword in (*_FORMS, *_RULES):
            if keyword in after and not _allows_all_of(before.get(keyword), after[keyword], keyword):
                yield f"{where}: {keyword} " + (f"is {after[keyword]} now" if keyword in _FORMS else "has changed")

    def _fields(self, where: str, before: Json, after: Json, visited: Visited) -> Iterator[str]:
        fields, now = before.get("properties", {}), after.get("properties", {})
        required, needed = set(before.get("required", ())), set(after.get("required", ()))
        for name in fields.keys() - now.keys():
            yield f"{where}.{name}: removed"
        if self.is_request:
            yield from (f"{where}.{name}: required now" for name in sorted(needed - required))
            if after.get("additionalProperties") is False and before.get("additionalProperties") is not False:
                yield f"{where}: unknown fields are refused now"
        else:
            yield from (f"{where}.{name}: may be missing now" for name in sorted((required - needed) & now.keys()))
        for name in fields.keys() & now.keys():
            yield from self.changes(f"{where}.{name}", fields[name], now[name], visited)
        others, now_others = before.get("additionalProperties"), after.get("additionalProperties")
        if isinstance(others, dict) and isinstance(now_others, dict):
            yield from self.changes(f"{where}.*", others, now_others, visited)


def _operations(old: Json, new: Json) -> Iterator[str]:
    for path, methods in old["paths"].items():
        for method, before in methods.items():
            where, after = f"{method.upper()} {path}", new["paths"].get(path, {}).get(method)
            if method in _METHODS and after is None:
                yield f"{where}: removed"
            elif method in _METHODS:
                yield from _operation(_Comparison(old, new, True), _Comparison(old, new, False), where, before, after)


def _operation(request: _Comparison, response: _Comparison, where: str, before: Json, after: Json) -> Iterator[str]:
    if before["operationId"] != after["operationId"]:
        yield f"{where}: its operationId, which names it in generated clients, is {after['operationId']} now"
    for way in before["security"]:
        if not any(set(each) <= set(way) for each in after["security"]):
            yield f"{where}: {' with '.join(way) or 'calls without a credential'} are no longer accepted"
    yield from _parameters(request, where, before, after)
    body, body_now = before.get("requestBody"), after.get("requestBody")
    if body_now and body_now["required"] and not (body and body["required"]):
        yield f"{where}: a body is required now"
    if body and body_now:
        yield from request.changes(f"{where} body", _schema(body), _schema(body_now))
    for status, answer in before["responses"].items():
        if status.startswith("2"):
            if status not in after["responses"]:
                yield f"{where}: does not respond with {status} any more"
            else:
                yield from response.changes(f"{where} {status}", _schema(answer), _schema(after["responses"][status]))


def _parameters(request: _Comparison, where: str, before: Json, after: Json) -> Iterator[str]:
    known = {(each["in"], each["name"]): each for each in before["parameters"]}
    now = {(each["in"], each["name"]): each for each in after["parameters"]}
    yield from (f"{where}: the parameter {name} was removed" for _, name in sorted(known.keys() - now.keys()))
    for key, parameter in now.items():
        kept = known.get(key)
        if parameter["required"] and not (kept and kept["required"]):
            yield f"{where}: the parameter {key[1]} is required now"
        if kept:
            yield from request.changes(f"{where} {key[1]}", kept["schema"], parameter["schema"])


def _events(old: Json, new: Json) -> Iterator[str]:
    comparison = _Comparison(old, new, False)
    for kind, before in old.get("webhooks", {}).items():
        after = new.get("webhooks", {}).get(kind)
        if after is None:
            yield f"{kind}: removed"
        else:
            bodies = before["post"]["requestBody"], after["post"]["requestBody"]
            yield from comparison.changes(kind, _schema(bodies[0]), _schema(bodies[1]))


def _allows_all_of(before: Any, after: Any, keyword: str) -> bool:
    """Whether a rule is what it was, or offers one of more alternatives where it asks for one of some; a pattern
    does if it begins with the one before, whole, as its first alternative."""
    if keyword == "pattern" and before is not None and before != after:
        return bool(before.endswith("$") and after.startswith(f"^({before[1:-1]}|") and after.endswith(")$"))
    if before == after or keyword != "then" or not isinstance(before, dict) or "anyOf" not in before:
        return bool(before == after)
    are = after.get("anyOf", [])
    return {**before, "anyOf": are} == after and all(each in are for each in before["anyOf"])


def _schema(described: Json) -> Json:
    schema: Json = described["content"]["application/json"]["schema"]
    return schema


def _resolve_reference(document: Json, schema: Json) -> Json:
    name = schema.get("$ref", "").rpartition("/")[2]
    return document["components"]["schemas"][name] if name else schema


def _alternatives(schema: Json) -> list[Json]:
    return schema.get("anyOf") or schema.get("oneOf") or [schema]


def _list_values(schema: Json) -> set[str]:
    """The values of an enum or a constant, as texts; empty if all are allowed."""
    return set(map(str, schema.get("enum", [schema["const"]] if "const" in schema else [])))


def _types(schema: Json) -> set[str]:
    """The types of a schema; empty if it allows all. Every integer is a number."""
    types = schema.get("type", [])
    found = {types} if isinstance(types, str) else set(types)
    return found | {"integer"} if "number" in found else found


def _name(schema: Json) -> str:
    return str(schema.get("$ref", "").rpartition("/")[2] or schema.get("type") or schema)
