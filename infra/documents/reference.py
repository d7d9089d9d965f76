"""The page /docs: the OpenAPI document as HTML, without anything that it loads; its one script searches its own words.

Contents stand beside it on wide screens, above it on narrow ones. Operations are grouped by their tag; each has an
anchor, its operationId. Schemas have the anchor `schema-<name>`, error statuses `status-<status>`, credentials
`credential-<name>`, events `event-<kind>`, and groups `group-<name>`.
"""

import html
import json
import re
import shlex
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from chalicelib.platform.http.documents import EXAMPLE_URL
from chalicelib.platform.http.errors import phrase_of

Json = dict[str, Any]
escape = partial(html.escape, quote=False)
"""Text between tags; there is none of the document within a tag, where quotes would have to be escaped, too."""
_STYLE, _SCRIPT = Path(__file__).with_name("reference.css"), Path(__file__).with_name("reference.js")
SAMPLES = Path(__file__).with_name("samples")
_LANGUAGES = {"py": "Python", "ts": "TypeScript"}
_FINDER = (
    '<div id="finder" role="search" hidden><label for="search">Search</label>'
    '<input id="search" type="search" autocomplete="off" spellcheck="false" aria-keyshortcuts="/">'
    '<p id="count" role="status"></p><ul id="found"></ul></div>'
)
"""Shown by the script, without which it finds nothing."""
_CREDENTIALS = {
    "apiKey": "x-api-key: $KEY",
    "clientId": "x-client-id: $CLIENT_ID",
    "orchestratorKey": "x-orchestrator-key: $KEY",
    "sessionCookie": "cookie: session_token=$TOKEN",
    "sessionToken": "authorization: Bearer $TOKEN",
}
"""The header of each security scheme."""
_BOUNDS = (("minLength", "maxLength", "characters"), ("minItems", "maxItems", "entries"), ("minimum", "maximum", ""))


def page(document: Json) -> str:
    """The page that shows an OpenAPI document."""
    body = "".join(_body(document)).replace(EXAMPLE_URL, document["servers"][0]["url"])  # in programs
    style, title = _STYLE.read_text(encoding="utf-8"), escape(document["info"]["title"])
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}: API</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{style}</style></head>'
        f"<body>{body}<script>{_SCRIPT.read_text(encoding='utf-8')}</script></body></html>"
    )


def _body(document: Json) -> Iterator[str]:
    info, url = document["info"], escape(document["servers"][0]["url"])
    yield f'<header><h1>{escape(info["title"])}</h1><p>{_prose(info["description"])}</p>'
    yield f"<p>Version {escape(info['version'])}, revision {escape(info['x-revision'])}, at <code>{url}</code>. "
    yield "Generate a client from "
    yield '<a href="openapi.json">openapi.json</a>. Guides begin at <a href="docs/api">docs/api</a>.</p></header>'
    yield f'<nav id="contents" aria-label="Contents">{_FINDER}<h2>Contents</h2>'
    yield f'{"".join(_contents(document))}</nav><main>'
    for tag in document["tags"]:
        name = tag["name"]
        yield f'<section><h2 id="{_group(name)}">{escape(name)}</h2><p>{_prose(tag["description"])}.</p>'
        yield from (_operation(document, *known) for known in _operations(document, name))
        yield "</section>"
    yield from (_events(document), _credentials(document), _errors(document), _schemas(document))
    yield '</main><p class="up"><a href="#contents">Contents</a></p>'


def _contents(document: Json) -> Iterator[str]:
    """A list of links for each part of the page, which opens at a click."""
    parts: dict[str, list[tuple[str, str]]] = {}
    for name in (tag["name"] for tag in document["tags"]):
        operations = [each for _, _, each in _operations(document, name)]
        parts[name] = [(each["operationId"], _prose(each["summary"])) for each in operations]
    parts["Events"] = [(f"event-{kind}", f"<code>{kind}</code>") for kind in document["webhooks"]]
    parts["Credentials"] = [(f"credential-{name}", name) for name in document["components"]["securitySchemes"]]
    parts["Errors"] = [(f"status-{status}", f"{status} {phrase_of(status)}") for status in _statuses(document)]
    parts["Schemas"] = [(f"schema-{name}", name) for name in document["components"]["schemas"]]
    for name, entries in parts.items():
        listed = [(_group(name), "All"), *entries]
        links = "".join(f'<li><a href="#{anchor}">{text}</a></li>' for anchor, text in listed)
        yield f"<details><summary>{escape(name)}</summary><ul>{links}</ul></details>"


def _group(name: str) -> str:
    """The anchor of a part of the page."""
    return f"group-{name.lower().replace(' ', '-')}"


def _operations(document: Json, tag: str) -> list[tuple[str, str, Json]]:
    """Method, path and description of each operation of a group."""
    return [
        (method.upper(), path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if operation["tags"] == [tag]
    ]


def _operation(document: Json, method: str, path: str, operation: Json) -> str:
    name, status = operation["operationId"], min(operation["responses"])
    body, answer, said = operation.get("requestBody"), operation["responses"][status], ""
    if operation["parameters"]:
        rows = (_row(each["name"], each, each["schema"], each["in"]) for each in operation["parameters"])
        said += f"<h4>Parameters</h4><dl>{''.join(rows)}</dl>"
    if body:
        optional = "" if body["required"] else " (optional)"
        said += f"<h4>Body{optional}: {_type(_schema(body))}</h4><dl>{_fields(document, _schema(body))}</dl>"
    errors = ", ".join(f'<a href="#status-{each}">{each}</a>' for each in operation["responses"] if each >= "400")
    waits = operation["responses"].get("202") if status < "202" else None
    waiting = f"<p>Or 202, if it waits for approval: {_type(_schema(waits))}</p>" if waits else ""
    return (
        f'<article id="{name}"><h3><a href="#{name}">{_prose(operation["summary"])}</a></h3><div><div>'
        f"<p><code><b>{method}</b> {escape(path)}</code></p><p>{_prose(operation['description'])}</p>"
        f"<p>Credentials: {_ways(operation['security'])}</p>{said}{waiting}<p>Errors: {errors}</p></div>"
        f"<div><h4>Example</h4>{_code(_curl(document, method, path, operation))}"
        f"<h4>Response {status}: {_type(_schema(answer))}</h4>{_code(_json(answer))}"
        f"{_samples('refund') if name == 'refund_request' else ''}</div></div></article>"
    )


def _samples(name: str) -> str:
    """A program in each language, which tests run as it stands."""
    texts = {title: (SAMPLES / f"{name}.{ending}").read_text(encoding="utf-8") for ending, title in _LANGUAGES.items()}
    return "".join(f"<h4>{title}</h4>{_code(text.rstrip())}" for title, text in texts.items())


def _events(document: Json) -> str:
    first = next(iter(document["webhooks"].values()))["post"]
    rows = "".join(_row(each["name"], each, each["schema"], each["in"]) for each in first["parameters"])
    events = (
        f'<article id="event-{kind}"><h3><a href="#event-{kind}"><code>{kind}</code></a></h3>'
        f"<p>{_prose(event['post']['summary'])}. Body: {_type(_schema(event['post']['requestBody']))}</p>"
        f"{_code(_json(event['post']['requestBody']))}</article>"
        for kind, event in document["webhooks"].items()
    )
    said = f"<p>{_prose(first['description'])}</p>"
    for name, title, body in (
        ("headers", "Headers of a webhook", f"<dl>{rows}</dl>"),
        ("signature", "Checking a signature", _samples("verify_webhook")),
    ):
        said += f'<article id="webhook-{name}"><h3><a href="#webhook-{name}">{title}</a></h3>{body}</article>'
    return f'<section><h2 id="group-events">Events</h2>{said}{"".join(events)}</section>'


def _credentials(document: Json) -> str:
    rows = (
        f'<dt id="credential-{name}"><code>{_CREDENTIALS[name]}</code></dt><dd>{_prose(each["description"])}</dd>'
        for name, each in document["components"]["securitySchemes"].items()
    )
    return f'<section><h2 id="group-credentials">Credentials</h2><dl>{"".join(rows)}</dl></section>'


def _errors(document: Json) -> str:
    rows = (
        f'<dt id="status-{status}">{status} {phrase_of(status)}</dt><dd>{_prose(answer["description"])}</dd>'
        for status, answer in _statuses(document).items()
    )
    shape = _type({"$ref": "#/components/schemas/ErrorAnswer"})
    return f'<section><h2 id="group-errors">Errors</h2><p>Body: {shape}</p><dl>{"".join(rows)}</dl></section>'


def _statuses(document: Json) -> dict[int, Json]:
    """The responses with an error, by their status."""
    answers = document["components"]["responses"].values()
    return {answer["content"]["application/json"]["example"]["statusCode"]: answer for answer in answers}


def _schemas(document: Json) -> str:
    parts = (
        f'<article id="schema-{name}"><h3><a href="#schema-{name}">{name}</a></h3>'
        f"<p>{_prose(schema.get('description', ''))}</p>"
        + (f"<dl>{_fields(document, schema)}</dl>" if schema.get("properties") else f"<p>{_type(schema)}</p>")
        + "</article>"
        for name, schema in document["components"]["schemas"].items()
    )
    return f'<section><h2 id="group-schemas">Schemas</h2>{"".join(parts)}</section>'


def _fields(document: Json, schema: Json) -> str:
    """The rows of an object's fields."""
    name = schema.get("$ref", "").rpartition("/")[2]
    model = document["components"]["schemas"][name] if name else schema
    required = model.get("required", ())
    fields = model.get("properties", {}).items()
    return "".join(_row(field, {**each, "required": field in required}, each) for field, each in fields)


def _row(name: str, described: Json, schema: Json, where: str = "") -> str:
    facts = [where, _type(schema), "required" if described.get("required") else ""]
    said = " ".join(filter(None, (_prose(described.get("description", "")), _limits(schema))))
    return f"<dt><code>{escape(name)}</code> <small>{', '.join(filter(None, facts))}</small></dt><dd>{said}</dd>"


def _type(schema: Json) -> str:
    """What a value is, with links to schemas."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f'<a href="#schema-{name}">{name}</a>'
    alternatives = schema.get("anyOf") or schema.get("oneOf")
    if alternatives:
        return " or ".join(_type(each) for each in alternatives)
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        return " or ".join(f"<code>{escape(json.dumps(each))}</code>" for each in values)
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    of = schema.get("additionalProperties")
    return f"object of {_type(of)}" if isinstance(of, dict) else escape(str(schema.get("type", "any")))


def _limits(schema: Json) -> str:
    """The pattern, format, bounds and default of a value, or of the one alternative that has some."""
    for each in schema.get("anyOf", ()):
        if found := _limits(each):
            return found
    parts = [f"{name} <code>{escape(str(schema[name]))}</code>" for name in ("format", "pattern") if name in schema]
    bounded = (each for each in _BOUNDS if schema.keys() & set(each[:2]))
    parts += [_range(schema.get(low), schema.get(high), unit) for low, high, unit in bounded]
    if schema.get("default") is not None:
        parts.append(f"default <code>{escape(json.dumps(schema['default']))}</code>")
    return f"<small>{', '.join(parts)}</small>" if parts else ""


def _range(low: int | None, high: int | None, unit: str) -> str:
    """The bounds in words, of which at least one is given."""
    if (low, high) == (1, None) and unit:
        return "not empty"
    bounds = f"at least {low}" if high is None else f"at most {high}" if low is None else f"{low} to {high}"
    return f"{bounds} {unit}".strip()


def _ways(security: list[Json]) -> str:
    ways = (" with ".join(f'<a href="#credential-{name}">{name}</a>' for name in way) or "none" for way in security)
    return ", or ".join(ways)


def _curl(document: Json, method: str, path: str, operation: Json) -> str:
    """The example as a command."""
    shown = {(each["in"], each["name"]): each["example"] for each in operation["parameters"] if "example" in each}
    path = re.sub(r"\{(\w+)\}", lambda part: quote(str(shown.get(("path", part[1]), part[1])), safe=""), path)
    query = urlencode({name: text for (where, name), text in shown.items() if where == "query"})
    url = document["servers"][0]["url"] + path + (f"?{query}" if query else "")
    lines = [f"curl {'' if method == 'GET' else f'-X {method} '}{shlex.quote(url)}"]
    ways = operation["security"]
    way = next((each for each in ways if not each or list(each) == ["apiKey"]), ways[0])
    lines += [f'-H "{_CREDENTIALS[name]}"' for name in way]
    if "example" in operation.get("requestBody", {}).get("content", {}).get("application/json", {}):
        lines += ["-H 'content-type: application/json'", f"-d {shlex.quote(_json(operation['requestBody']))}"]
    return " \\\n  ".join(lines)


def _schema(described: Json) -> Json:
    schema: Json = described["content"]["application/json"]["schema"]
    return schema


def _json(described: Json) -> str:
    return json.dumps(described["content"]["application/json"].get("example", {}), indent=2, ensure_ascii=False)


def _code(text: str) -> str:
    """A block that can be scrolled with the keyboard, too."""
    return f'<pre tabindex="0"><code>{escape(text, quote=False)}</code></pre>'


def _prose(text: Any) -> str:
    """Escaped text, with what stands between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(str(text)))
