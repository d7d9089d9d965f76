"""Requests for the payment page as browsers send them, with responses of any content type."""

import http.client
import re
from collections.abc import Mapping
from html import unescape

from tests.support.client import Api, Reply
from tests.support.patience import patience

PAGE_CLIENT_ID = "cli_hosted_payment_page"
PAGE_ORIGIN = "http://pay.test"
BY_PAGE = {"x-client-id": PAGE_CLIENT_ID, "origin": PAGE_ORIGIN}


def get(api: Api, path: str, headers: Mapping[str, str] | None = None, method: str = "GET") -> Reply:
    """Sends a request; `headers` may contain `Host`."""
    connection = http.client.HTTPConnection("127.0.0.1", api.port, timeout=patience(2))
    try:
        connection.request(method, path, None, dict(headers or {}))
        response = connection.getresponse()
        return Reply(response.status, {name.lower(): text for name, text in response.getheaders()}, response.read())
    finally:
        connection.close()


def facts(page: Reply) -> str:
    """Returns the part of the page that depends on the link."""
    match = re.search(r"<!--facts-->(.*)<!--/facts-->", page.body.decode(), re.DOTALL)
    assert match is not None
    return match[1]


def words(html: str) -> str:
    """Returns the text without tags."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())
