"""Writes the Python of the client: `models` with the schemas as types, `client` with the groups of methods.

A parameter of the query that is called as one of the path has `_` after it.
"""

import keyword
import re
from collections.abc import Iterator

from infra.clients.operations import Json, Method, event_schemas, methods_of, name_of, schemas_of
from infra.clients.types import Types

_TYPES = Types(
    names={"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"},
    anything="Any",
    literals=lambda values: f"Literal[{', '.join('None' if each is None else repr(each) for each in values)}]",
    generics={"array": "List[{}]", "object": "Dict[str, {}]"},
)
_IMPORTS = """\
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Dict, List, Literal, cast

from payment_requests import models
from payment_requests.core import Caller, Group


"""
_HEAD = '"""{about} Made of the OpenAPI document {version}; do not edit."""\n\n'


def python_files(document: Json) -> dict[str, str]:
    """The modules that are made, by their names."""
    version = document["info"]["x-revision"]
    groups = methods_of(document)
    return {
        "models.py": _models(document, schemas_of(document, groups), version),
        "client.py": _client(groups, version),
        "_version.py": f'VERSION = "{version}"\n',
    }


def _models(document: Json, schemas: dict[str, Json], version: str) -> str:
    lines = [_HEAD.format(about="The JSON of the API as types.", version=version)]
    lines.append("from typing import Any, Dict, List, Literal, NotRequired, TypeAlias, TypedDict\n\n")
    for name, schema in schemas.items():
        lines.append(_model(name, schema))
    events = " | ".join(sorted(map(name_of, event_schemas(document))))
    lines.append(f'WebhookEvent: TypeAlias = "{events}"\n"""What a webhook receives; `event` says which it is."""\n')
    return "".join(lines)


def _model(name: str, schema: Json) -> str:
    fields = schema.get("properties")
    if fields is None:
        return f'{name}: TypeAlias = "{_TYPES.type_of(schema)}"\n\n'
    required = set(schema.get("required", ()))
    known = {each: _TYPES.type_of(one) for each, one in fields.items()}
    types = {each: one if each in required else f"NotRequired[{one}]" for each, one in known.items()}
    if all(each.isidentifier() and not keyword.iskeyword(each) for each in fields):
        lines = [f"    {each}: {_quote(one)}\n" for each, one in types.items()]
        return f"class {name}(TypedDict):\n" + ("".join(lines) or "    pass\n") + "\n\n"
    entries = "".join(f"    {_quote(each)}: {_quote(one)},\n" for each, one in types.items())
    return f'{name} = TypedDict("{name}", {{\n{entries}}})\n\n'


def _quote(text: str) -> str:
    """A type as text, because models refer to later ones."""
    return f'"{text}"' if '"' not in text else repr(text)


def _client(groups: dict[str, list[Method]], version: str) -> str:
    lines = [_HEAD.format(about="The operations of the API as methods.", version=version)]
    lines.append(_IMPORTS)
    for group, methods in groups.items():
        lines.append(f'class {_class_name(group)}(Group):\n    """The operations of `{group}`."""\n\n')
        lines += [text + "\n" for each in methods for text in _method(each)]
        lines.append("\n")
    lines.append('class Client(Caller):\n    """All operations, by group."""\n')
    for group in groups:
        name = _class_name(group)
        lines.append(f"\n    @cached_property\n    def {group}(self) -> {name}:\n        return {name}(self)\n")
    return "".join(lines)


def _class_name(group: str) -> str:
    return "".join(each.title() for each in group.split("_"))


def _method(method: Method) -> Iterator[str]:
    arguments = ["self", *(f"{name}: str" for name in method.path_names)]
    if method.body is not None:
        rest = "" if method.needs_body else " | None = None"
        arguments.append(f"body: {_TYPES.type_of(method.body, 'models.')}{rest}")
    names = {each.name: each.name + "_" * (each.name in method.path_names) for each in method.query}
    named = [
        f"{names[each.name]}: {_TYPES.type_of(each.schema, 'models.')}{'' if each.is_required else ' | None = None'}"
        for each in method.query
    ]
    if method.takes_key:
        named.append("idempotency_key: str | None = None")
    path = re.sub(r"{(\w+)}", lambda found: "{self._quote(" + found[1] + ")}", method.path)
    called = [f'"{method.verb}"', f'f"{path}"' if method.path_names else f'"{path}"']
    if method.body is not None:
        called.append("body=body")
    if names:
        called.append("query={" + ", ".join(f'"{name}": {argument}' for name, argument in names.items()) + "}")
    if method.takes_key:
        called.append("takes_key=True, idempotency_key=idempotency_key")
    result = _TYPES.type_of(method.result, "models.")
    yield _function(method.page_name, [*arguments, *_keywords(named)], result, method.summary,
                    f'return cast("{result}", self._call({", ".join(called)}))')
    if page := method.page:
        kept = [each for each in named if not each.startswith(f"{page.parameter}:")]
        passed = [*method.path_names, *(each.partition(":")[0] for each in kept)]
        values = ", ".join([*(f"{each}={each}" for each in passed), f"{page.parameter}=place"])
        entry = _TYPES.type_of(page.entry, "models.")
        one_page = f"lambda place: self.{method.page_name}({values})"
        body = f'return cast("Iterator[{entry}]", self._pages({one_page}, "{page.field}"))'
        summary = f"{method.summary}: each in turn"
        yield _function(method.list_name, [*arguments, *_keywords(kept)], f"Iterator[{entry}]", summary, body)


def _keywords(named: list[str]) -> list[str]:
    return ["*", *named] if named else []


def _function(name: str, arguments: list[str], result: str, summary: str, body: str) -> str:
    return (
        f"    def {name}(\n        " + ",\n        ".join(arguments) + f",\n    ) -> {_quote(result)}:\n"
        f'        """{summary}."""\n        {body}\n'
    )
