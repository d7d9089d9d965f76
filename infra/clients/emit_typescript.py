"""Writes the TypeScript of the client: `src/models.ts` with the schemas as types, `src/client.ts` with the methods."""

import json
import re
from collections.abc import Iterator

from infra.clients.operations import Json, Method, Page, event_schemas, methods_of, name_of, schemas_of
from infra.clients.types import Types

_TYPES = Types(
    names={"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"},
    anything="unknown",
    literals=lambda values: " | ".join(map(json.dumps, values)),
    generics={"array": "Array<{}>", "object": "Record<string, {}>"},
)
_HEAD = "/** {about} Made of the OpenAPI document {version}; do not edit. */\n\n"


def typescript_files(document: Json, package: str) -> dict[str, str]:
    """The files that are made, by their paths; `package` is package.json without a version."""
    version = document["info"]["x-revision"]
    groups = methods_of(document)
    return {
        "src/models.ts": _models(document, schemas_of(document, groups), version),
        "src/client.ts": _client(groups, version),
        "src/version.ts": f'export const VERSION = "{version}";\n',
        "package.json": json.dumps({**json.loads(package), "version": version}, indent=2) + "\n",
    }


def _models(document: Json, schemas: dict[str, Json], version: str) -> str:
    lines = [_HEAD.format(about="The JSON of the API as types.", version=version)]
    lines += [_model(name, schema) for name, schema in schemas.items()]
    events = " | ".join(sorted(map(name_of, event_schemas(document))))
    about = "/** What a webhook receives; `event` says which it is. */"
    return "".join([*lines, f"{about}\nexport type WebhookEvent = {events};\n"])


def _model(name: str, schema: Json) -> str:
    fields = schema.get("properties")
    if fields is None:
        return f"export type {name} = {_TYPES.type_of(schema)};\n\n"
    required = set(schema.get("required", ()))
    lines = "".join(_field(each, _TYPES.type_of(one), each in required) for each, one in fields.items())
    return f"export interface {name} {{\n{lines}}}\n\n"


def _field(name: str, kind: str, is_required: bool) -> str:
    shown = name if name.isidentifier() else json.dumps(name)
    return f"  {shown}{'' if is_required else '?'}: {kind}{'' if is_required else ' | undefined'};\n"


def _client(groups: dict[str, list[Method]], version: str) -> str:
    lines = [_HEAD.format(about="The operations of the API as methods.", version=version)]
    lines.append('import { type CallOptions, Caller, type ClientOptions, pagesOf } from "./core.js";\n')
    lines.append('import type * as models from "./models.js";\n\n')
    for group, methods in groups.items():
        lines.append(f"export class {_class_name(group)} {{\n  constructor(private readonly caller: Caller) {{}}\n")
        lines += [text for each in methods for text in _method(each)]
        lines.append("}\n\n")
    lines.append("/** All operations, by group. */\nexport class Client {\n")
    lines += [f"  readonly {camel_case(group)}: {_class_name(group)};\n" for group in groups]
    lines.append("\n  constructor(url: string, options: ClientOptions = {}) {\n")
    lines.append("    const caller = new Caller(url, options);\n")
    lines += [f"    this.{camel_case(group)} = new {_class_name(group)}(caller);\n" for group in groups]
    return "".join([*lines, "  }\n}\n"])


def camel_case(name: str) -> str:
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name)


def _class_name(group: str) -> str:
    return "".join(each.title() for each in group.split("_"))


def _method(method: Method) -> Iterator[str]:
    paths = [f"{camel_case(name)}: string" for name in method.path_names]
    sent = f"body{'' if method.needs_body else '?'}: {_TYPES.type_of(method.body, 'models.')}"
    body = [sent] if method.body is not None else []
    path = re.sub(r"{(\w+)}", lambda found: f"${{encodeURIComponent({camel_case(found[1])})}}", method.path)
    given = [f"verb: {json.dumps(method.verb)}, path: `{path}`", *(["body"] if body else [])]
    given += (["query"] if method.query else []) + (["takesKey: true"] if method.takes_key else [])
    result = _TYPES.type_of(method.result, "models.")
    arguments = [*paths, *body, *_query(method, ()), "options: CallOptions = {}"]
    yield _function(method.page_name, method.summary, arguments, f"Promise<{result}>",
                    f"return this.caller.call<{result}>({{ {', '.join(given)} }}, options);")
    if method.page:
        yield _iterator(method, method.page, paths)


def _iterator(method: Method, page: Page, paths: list[str]) -> str:
    query = f"{{ ...query, ...(place ? {{ {page.parameter}: place }} : {{}}) }}"
    values = ", ".join([*(camel_case(name) for name in method.path_names), query, "options"])
    entry = _TYPES.type_of(page.entry, "models.")
    called = f"this.{camel_case(method.page_name)}({values})"
    read = f"(place) => {called} as Promise<{_TYPES.type_of(page.schema, 'models.')}>"
    arguments = [*paths, *_query(method, (page.parameter,)), "options: CallOptions = {}"]
    body = f'return pagesOf<{entry}>({read}, "{page.field}");'
    summary = f"{method.summary}: each in turn"
    return _function(method.list_name, summary, arguments, f"AsyncGenerator<{entry}, void>", body)


def _query(method: Method, left_out: tuple[str, ...]) -> list[str]:
    """The argument with the query, without some parameters; none if the operation has no query."""
    kept = [each for each in method.query if each.name not in left_out]
    types = (_TYPES.type_of(each.schema, "models.") for each in kept)
    fields = " ".join(_field(each.name, kind, each.is_required).strip() for each, kind in zip(kept, types, strict=True))
    if not method.query:
        return []
    return [f"query: {{ {fields} }}" + ("" if any(each.is_required for each in kept) else " = {}")]


def _function(name: str, summary: str, arguments: list[str], result: str, body: str) -> str:
    return f"\n  /** {summary}. */\n  {camel_case(name)}({', '.join(arguments)}): {result} {{\n    {body}\n  }}\n"
