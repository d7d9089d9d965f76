"""The OpenAPI document in the form of OpenAPI 3.0, for generators of clients that do not know 3.1 well.

It describes the same requests and responses. It has no events, as 3.0 knows no webhooks, and no rules between fields
(`if`, `dependentSchemas`, `not`), which generators do not read.
"""

from typing import Any

Json = dict[str, Any]
_UNKNOWN = ("if", "then", "else", "dependentSchemas", "not", "prefixItems", "examples", "propertyNames")
_NULL = {"type": "null"}
_KINDS = {bool: "boolean", int: "integer", str: "string"}


def as_3_0(made: Json) -> Json:
    """The 3.0 form of a 3.1 document."""
    components = made["components"]
    return {
        **{name: value for name, value in made.items() if name != "webhooks"},
        "openapi": "3.0.3",
        "paths": _with_schemas(made["paths"]),
        "components": {
            **_with_schemas({name: value for name, value in components.items() if name != "schemas"}),
            "schemas": {name: _schema(schema) for name, schema in components["schemas"].items()},
        },
    }


def _with_schemas(part: Any) -> Any:
    """A part of the document with every `schema` in it in the form of 3.0; examples stay as they are."""
    if isinstance(part, list):
        return [_with_schemas(each) for each in part]
    if not isinstance(part, dict):
        return part
    return {
        name: _schema(value) if name == "schema" else value if name == "example" else _with_schemas(value)
        for name, value in part.items()
    }


def _schema(schema: Any) -> Any:
    """A schema without types, keywords and forms of 3.1. `true`, which allows everything, becomes an empty one."""
    if not isinstance(schema, dict):
        return {}
    made = {name: value for name, value in _nullable(schema).items() if name not in _UNKNOWN}
    if "const" in made:
        made["enum"] = [made.pop("const")]
        made.setdefault("type", _KINDS[type(made["enum"][0])])
    for bound in ("Minimum", "Maximum"):
        if f"exclusive{bound}" in made:
            made[bound.lower()], made[f"exclusive{bound}"] = made[f"exclusive{bound}"], True
    for name in ("anyOf", "oneOf", "allOf"):
        if name in made:
            made[name] = [_schema(each) for each in made[name]]
    for name in ("items", "additionalProperties"):
        if isinstance(made.get(name), dict):
            made[name] = _schema(made[name])
    if "properties" in made:
        made["properties"] = {name: _schema(value) for name, value in made["properties"].items()}
    if made.get("type") == "array":
        made.setdefault("items", {})
    if "$ref" in made and len(made) > 1:
        made["allOf"] = [{"$ref": made.pop("$ref")}]
    return made


def _nullable(made: Json) -> Json:
    """The same with `nullable` in place of null among the types, the alternatives or the values."""
    for name in ("anyOf", "oneOf"):
        if _NULL in made.get(name, ()):
            others = [each for each in made[name] if each != _NULL]
            rest = {key: value for key, value in made.items() if key != name}
            return {**(others[0] if len(others) == 1 else {name: others}), **rest, "nullable": True}
    if isinstance(made.get("type"), list):
        kinds = [kind for kind in made["type"] if kind != "null"]
        nullable = {"nullable": True} if len(kinds) < len(made["type"]) else {}
        rest = {key: value for key, value in made.items() if key != "type"}
        either = {"type": kinds[0]} if len(kinds) == 1 else {"anyOf": [{"type": each} for each in kinds]}
        return {**rest, **either, **nullable}
    if None in made.get("enum", ()):
        return {**made, "enum": [each for each in made["enum"] if each is not None], "nullable": True}
    return made
