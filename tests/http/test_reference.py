"""The page /docs: everything that the OpenAPI document has, escaped, cached like a file."""

import re
from html.parser import HTMLParser

import pytest

from chalicelib.http import reference
from chalicelib.http.openapi import build
from chalicelib.http.operation import OPERATIONS
from tests.support.browser import get, words
from tests.support.client import Api

DOCUMENT = build("http://api.test")


class Outline(HTMLParser):
    """The ids, links and headings of a page; it fails where elements are not closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids, self.links, self.levels = list[str](), list[str](), list[int]()
        self._open: list[str] = []
        self.feed(html)
        assert self._open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        named = dict(attributes)
        self.ids += [named["id"] or ""] if "id" in named else []
        self.links += [named["href"] or ""] if "href" in named else []
        self.levels += [int(tag[1])] if re.fullmatch("h[1-6]", tag) else []
        if tag != "meta":
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag


@pytest.fixture(scope="module")
def html() -> str:
    return reference.page("http://api.test").text


def test_it_shows_every_operation_schema_event_error_and_credential(html: str) -> None:
    outline = Outline(html)
    assert len(set(outline.ids)) == len(outline.ids)
    wanted = {known.name for known in OPERATIONS} | {f"schema-{name}" for name in DOCUMENT["components"]["schemas"]}
    wanted |= {f"event-{kind}" for kind in DOCUMENT["webhooks"]}
    wanted |= {f"credential-{name}" for name in DOCUMENT["components"]["securitySchemes"]}
    assert wanted <= set(outline.ids)
    text = words(html)
    for known in OPERATIONS:
        assert f"{known.method} {known.path}" in text


def test_every_link_leads_to_a_part_of_the_page_and_no_heading_is_skipped(html: str) -> None:
    outline = Outline(html)
    assert {link for link in outline.links if not link.startswith("#")} == {"openapi.json"}
    assert {link[1:] for link in outline.links if link.startswith("#")} <= set(outline.ids)
    assert outline.levels[0] == 1 and outline.levels.count(1) == 1
    assert all(after <= before + 1 for before, after in zip(outline.levels, outline.levels[1:], strict=False))


def test_it_loads_nothing_and_its_policy_allows_nothing(api: Api) -> None:
    page = get(api, "/docs")
    assert page.status == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert not re.search(rb"<(script|img|link|iframe|object)\b| on\w+=| style=| src=", page.body)
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-") and "frame-ancestors 'none'" in policy
    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.headers["cache-control"] == "no-cache"


def test_it_is_not_sent_again_while_it_is_the_same(api: Api) -> None:
    tag = get(api, "/docs").headers["etag"]
    again = get(api, "/docs", {"if-none-match": tag})
    assert (again.status, again.body) == (304, b"")
    assert get(api, "/docs", method="HEAD").status == 200
    assert get(api, "/docs", method="POST").status == 405


def test_texts_of_the_document_are_escaped() -> None:
    schema = {"type": "string", "description": "<b>`x<y`</b>", "pattern": "<i>", "enum": ["<u>"]}
    row = reference._row("<name>", schema, schema)
    assert not re.search(r"<(b|i|u|name)>", row)
    assert "<code>x&lt;y</code>" in row


def test_an_example_is_a_command_that_a_shell_takes() -> None:
    operation = DOCUMENT["paths"]["/v2/secure-payments"]["post"]
    command = reference._curl(DOCUMENT, "POST", "/v2/secure-payments", operation)
    assert command.startswith("curl -X POST http://api.test/v2/secure-payments \\\n")
    assert '"reference": "INV-1"' in command
