"""The page /docs: all of the OpenAPI document, with working links, and nothing that a browser would load."""

import json
import re
from base64 import b64encode
from collections import Counter
from hashlib import sha256
from itertools import pairwise
from typing import Any

import pytest

from chalicelib.platform.http.documents import OPENAPI, document
from chalicelib.platform.http.operation import OPERATIONS
from tests.support.browser import get, words
from tests.support.client import Api

DOCUMENT: dict[str, Any] = json.loads(document(OPENAPI, "http://api.test"))


@pytest.fixture(scope="module")
def page(deployment: tuple[Api, Any]) -> str:
    reply = get(deployment[0], "/docs")
    assert reply.status == 200
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    return reply.body.decode()


def anchors(page: str) -> list[str]:
    return re.findall(r' id="([^"]+)"', page)


def test_every_operation_event_schema_credential_and_error_has_an_anchor(page: str) -> None:
    components = DOCUMENT["components"]
    assert set(anchors(page)) >= {
        *(operation.name for operation in OPERATIONS),
        *(f"event-{kind}" for kind in DOCUMENT["webhooks"]),
        *(f"schema-{name}" for name in components["schemas"]),
        *(f"credential-{name}" for name in components["securitySchemes"]),
        *(f"status-{status}" for status in (400, 401, 403, 404, 409, 413, 415, 422, 423, 429, 502, 503)),
    }


def test_every_link_within_the_page_leads_somewhere_and_no_anchor_is_there_twice(page: str) -> None:
    found = anchors(page)
    assert [name for name, times in Counter(found).items() if times > 1] == []
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(found)


def test_the_contents_lead_to_every_operation_event_and_schema(page: str) -> None:
    match = re.search(r"<nav.*?</nav>", page, re.DOTALL)
    assert match is not None
    listed = set(re.findall(r'href="#([^"]+)"', match[0]))
    assert listed >= {operation.name for operation in OPERATIONS}
    assert listed >= {f"event-{kind}" for kind in DOCUMENT["webhooks"]}
    assert listed >= {f"schema-{name}" for name in DOCUMENT["components"]["schemas"]}


def test_it_loads_nothing_and_its_policy_allows_nothing_else(page: str, api: Api) -> None:
    assert re.findall(r"<(?:script|link|img|iframe|form)\b[^>]*>| on\w+=| src=", page) == ["<script>"]
    assert re.findall(r'href="(?!#)([^"]+)"', page) == ["openapi.json", "docs/api"]
    policy = get(api, "/docs").headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    for kind, element in (("style-src", "style"), ("script-src", "script")):
        within = page.partition(f"<{element}>")[2].partition(f"</{element}>")[0]
        assert f"{kind} 'sha256-{b64encode(sha256(within.encode()).digest()).decode()}';" in policy


def test_a_browser_that_has_the_page_is_told_that_it_is_unchanged(api: Api) -> None:
    first = get(api, "/docs")
    again = get(api, "/docs", {"if-none-match": first.headers["etag"]})
    assert (again.status, again.body) == (304, b"")
    assert get(api, "/docs", method="HEAD").status == 200
    assert get(api, "/docs", method="POST").status == 405


def test_it_fits_many_times_into_what_lambda_may_return(page: str) -> None:
    assert 5 * len(page.encode()) < 6 * 1024 * 1024


def test_an_example_is_sent_with_the_api_key_where_one_is_accepted(page: str) -> None:
    match = re.search(r'<article id="create_secure_payment">.*?</article>', page, re.DOTALL)
    assert match is not None
    said = words(match[0])
    assert "curl -X POST http://api.test/v2/secure-payments" in said
    assert '-H "x-api-key: $KEY"' in said and "$CLIENT_ID" not in said


def test_lengths_are_said_in_words(page: str) -> None:
    said = words(page)
    assert "1 to 255 characters" in said and "1 to 200 entries" in said
    assert not re.search(r"minLength|maxItems|\b1 characters", said)


def test_no_level_of_headings_is_skipped(page: str) -> None:
    levels = [int(level) for level in re.findall(r"<h([1-6])[ >]", page)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
