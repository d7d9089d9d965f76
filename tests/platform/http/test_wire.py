"""What is not an HTTP as API Gateway knows it."""

import http.client
import json
import re

import pytest

from tests.support.client import Api
from tests.support.patience import patience

# --- the wire ---


def raw(port: int, request: bytes) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=patience(2))
    connection.connect()
    connection.sock.sendall(request)
    answer = b""
    while chunk := connection.sock.recv(65536):
        answer += chunk
    connection.close()
    return answer


@pytest.mark.parametrize(
    "request_line",
    [b"BREW /v2/health HTTP/1.1", b"get /v2/health HTTP/1.1", b"TRACE /v2/health HTTP/1.1", b"CONNECT a:1 HTTP/1.1"],
)
def test_a_method_that_does_not_exist_has_the_one_shape_too(api: Api, request_line: bytes) -> None:
    answer = raw(api.port, request_line + b"\r\nHost: x\r\nConnection: close\r\n\r\n")
    head, _, body = answer.partition(b"\r\n\r\n")
    match = re.match(rb"HTTP/1\.1 (\d{3}) ", head)
    assert match
    assert b"x-request-id: " in head.lower()
    assert json.loads(body)["statusCode"] == int(match[1]) in (403, 404, 405)
