"""What a browser gets of the payment page: any type of answer, not JSON alone."""

import http.client
import re
from collections.abc import Mapping
from html import unescape

from tests.support.client import Api, Reply

PAGE_CLIENT_ID = "cli_hosted_payment_page"
PAGE_ORIGIN = "http://pay.test"
BY_PAGE = {"x-client-id": PAGE_CLIENT_ID, "origin": PAGE_ORIGIN}


def get(api: Api, path: str, headers: Mapping[str, str] | None = None, method: str = "GET") -> Reply:
    """`Host` may be among the headers."""
    connection = http.client.HTTPConnection("127.0.0.1", api.port, timeout=120)
    try:
        connection.request(method, path, None, dict(headers or {}))
        answer = connection.getresponse()
        return Reply(answer.status, {name.lower(): text for name, text in answer.getheaders()}, answer.read())
    finally:
        connection.close()


def facts(page: Reply) -> str:
    """What differs from link to link."""
    found = re.search(r"<!--facts-->(.*)<!--/facts-->", page.body.decode(), re.DOTALL)
    assert found is not None
    return found[1]


def words(html: str) -> str:
    """What a person reads of it."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())
