"""A schema of the OpenAPI document as a type of a language."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from infra.clients.operations import Json, name_of


@dataclass(frozen=True)
class Types:
    """The words of a language: the `names` of the types of JSON, what `anything` is, one of some `literals`, and the
    `generics` of an array and of an object, with {} for what is in them."""

    names: Mapping[str, str]
    anything: str
    literals: Callable[[list[Any]], str]
    generics: Mapping[str, str]

    def type_of(self, schema: Any, prefix: str = "") -> str:
        """A schema as a type; names of schemas have the prefix."""
        if not isinstance(schema, dict):
            return self.anything
        if name := name_of(schema):
            return prefix + name
        if "const" in schema or "enum" in schema:
            return self.literals(schema.get("enum", [schema.get("const")]))
        if "anyOf" in schema:
            return self._union(self.type_of(each, prefix) for each in schema["anyOf"])
        sent = schema.get("type", [])
        kinds = [sent] if isinstance(sent, str) else sent
        return self._union(self._of_kind(each, schema, prefix) for each in kinds)

    def _of_kind(self, kind: str, schema: Json, prefix: str) -> str:
        if kind not in self.generics:
            return self.names[kind]
        inside = schema.get("items" if kind == "array" else "additionalProperties")
        return self.generics[kind].format(self.type_of(inside, prefix))

    def _union(self, types: Iterator[str]) -> str:
        return " | ".join(dict.fromkeys(types)) or self.anything
