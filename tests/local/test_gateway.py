"""The HTTP edge of the local runner: what API Gateway would do, and never a traceback for a caller."""

import gzip
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from chalice import Chalice, Response

from infra.local.gateway import COMPRESSED_FROM, MAX_BODY, Router, Server
from tests.support.patience import patience


def small_app(is_closing: Callable[[], bool] = lambda: True) -> Chalice:
    """`/slow` answers once `is_closing`."""
    app = Chalice(app_name="small", env={})

    @app.route("/things/{token}", methods=["GET", "POST"], content_types=["application/json", "*/*"])
    def thing(token: str) -> dict[str, Any]:
        request = app.current_request
        body = request.raw_body
        return {
            "token": token,
            "query": {name: request.query_params.getlist(name) for name in request.query_params or {}},
            "body": body.decode("latin-1") if isinstance(body, bytes) else body,
            "bytes": len(body),
            "requestId": request.context["requestId"],
            "sourceIp": request.context["identity"]["sourceIp"],
            "header": request.headers.get("x-some"),
        }

    @app.route("/things/special")
    def special() -> Response:
        return Response("<p>special", headers={"Content-Type": "text/html", "Set-Cookie": ["a=1", "b=2"]})

    @app.route("/slow")
    def slow() -> dict[str, str]:
        while not is_closing():
            time.sleep(0.01)
        return {"slow": "done"}

    @app.route("/nothing", methods=["DELETE"])
    def nothing() -> Response:
        return Response("", status_code=204, headers={})

    @app.middleware("http")
    def explode(event: Any, get_response: Any) -> Any:
        if event.headers.get("x-explode"):
            raise SystemError("a secret of ours")
        return get_response(event)

    return app


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server(small_app(), "127.0.0.1", 0)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield server
    server.close()
    thread.join()


Answer = tuple[int, dict[str, str], bytes]


def ask(server: Server, method: str, path: str, body: Any = None, **headers: str) -> Answer:
    connection = http.client.HTTPConnection(*server.server_address, timeout=patience())
    try:
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, names)
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def send_raw(server: Server, raw: bytes) -> str:
    """What comes back for bytes that may be no HTTP, until the server closes."""
    with socket.create_connection(server.server_address, timeout=patience()) as connection:
        connection.sendall(raw)
        connection.shutdown(socket.SHUT_WR)
        received = b""
        while chunk := connection.recv(65536):
            received += chunk
    return received.decode("latin-1")


def assert_refused(raw: str, status: int) -> dict[str, Any]:
    """An answer in the one error shape; its body."""
    head, _, body = raw.partition("\r\n\r\n")
    assert head.startswith(f"HTTP/1.1 {status} "), head
    assert "x-request-id: " in head
    assert "content-type: application/json" in head
    parsed: dict[str, Any] = json.loads(body)
    assert parsed["statusCode"] == status
    assert set(parsed) == {"statusCode", "message", "error"}
    return parsed


def test_an_unknown_path_is_a_404_in_the_one_error_shape(server: Server) -> None:
    status, headers, body = ask(server, "GET", "/no/such?token=1")
    assert status == 404
    assert json.loads(body) == {"statusCode": 404, "message": "Cannot GET /no/such", "error": "Not Found"}
    assert headers["content-type"] == "application/json"
    assert headers["x-request-id"]


def test_a_request_reaches_the_app_as_on_aws(server: Server) -> None:
    _, _, body = ask(server, "GET", "/things/eip155%3A1%2Fx?a=1&a=2&b=", x_some="value")
    seen = json.loads(body)
    assert seen["token"] == "eip155%3A1%2Fx"
    assert seen["query"] == {"a": ["1", "2"], "b": [""]}
    assert seen["sourceIp"] == "127.0.0.1"
    assert seen["header"] == "value"
    assert len(seen["requestId"]) == 36


def test_every_request_has_an_id_of_its_own_even_on_one_connection(server: Server) -> None:
    connection = http.client.HTTPConnection(*server.server_address, timeout=patience())
    ids = set()
    for _ in range(3):
        connection.request("GET", "/things/a")
        ids.add(json.loads(connection.getresponse().read())["requestId"])
    connection.close()
    assert len(ids) == 3


def test_a_literal_path_is_preferred_to_a_variable_and_cookies_arrive_apart(server: Server) -> None:
    with socket.create_connection(server.server_address, timeout=patience()) as connection:
        connection.sendall(b"GET /things/special HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        answer = b""
        while chunk := connection.recv(65536):
            answer += chunk
    assert b"Set-Cookie: a=1\r\nSet-Cookie: b=2" in answer
    assert answer.endswith(b"<p>special")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", ("/", {})),
        ("/a/b", ("/a/b", {})),
        ("/a/b/", ("/a/b", {})),
        ("/a/c", ("/a/{x}", {"x": "c"})),
        ("/a/c/d", ("/a/{x}/d", {"x": "c"})),
        ("/a", None),
        ("/a/", None),
        ("/a//d", None),
        ("/a/b/c", None),
    ],
)
def test_paths_are_matched_segment_by_segment(path: str, expected: Any) -> None:
    assert Router(["/", "/a/{x}", "/a/{x}/d", "/a/b"]).match(path) == expected


@pytest.mark.parametrize("method", ["FOO", "TRACE", "PATCH"])
def test_a_method_without_a_route_is_unknown_to_the_gateway(server: Server, method: str) -> None:
    assert ask(server, method, "/things/a")[0] == 404
    assert ask(server, method, "/nowhere")[0] == 404


def test_an_answer_of_some_size_is_compressed_for_who_takes_that(server: Server) -> None:
    path = "/things/" + "a" * COMPRESSED_FROM
    _, plain, body = ask(server, "GET", path)
    _, packed, smaller = ask(server, "GET", path, accept_encoding="br, gzip")
    assert "content-encoding" not in plain and packed["content-encoding"] == "gzip"
    assert packed["content-length"] == str(len(smaller)) and len(smaller) < len(body) / 2
    assert json.loads(gzip.decompress(smaller))["token"] == json.loads(body)["token"]
    assert "content-encoding" not in ask(server, "GET", "/things/a", accept_encoding="gzip")[1]


def test_head_gets_headers_and_no_body(server: Server) -> None:
    raw = send_raw(server, b"HEAD /nowhere HTTP/1.1\r\nHost: x\r\n\r\nGET /things/a HTTP/1.1\r\nHost: x\r\n\r\n")
    first, _, second = raw.partition("\r\n\r\n")
    assert first.startswith("HTTP/1.1 404 ")
    assert second.startswith("HTTP/1.1 200 ")


def test_http_1_0_is_answered_and_closed(server: Server) -> None:
    raw = send_raw(server, b"GET /things/a HTTP/1.0\r\n\r\n")
    assert raw.startswith("HTTP/1.1 200 ")
    assert "connection: close" in raw


def test_no_content_has_no_body_and_no_length(server: Server) -> None:
    status, headers, body = ask(server, "DELETE", "/nothing")
    assert (status, body) == (204, b"")
    assert "content-length" not in headers


def test_a_body_above_ten_megabytes_is_refused_unread(server: Server) -> None:
    raw = send_raw(server, f"POST /things/a HTTP/1.1\r\nHost: x\r\nContent-Length: {MAX_BODY + 1}\r\n\r\n".encode())
    assert_refused(raw, 413)


def test_a_client_that_sends_a_large_body_in_one_go_still_reads_the_413(server: Server) -> None:
    status, _, body = ask(server, "POST", "/things/a", b"x" * (MAX_BODY + 1))
    assert (status, json.loads(body)["statusCode"]) == (413, 413)


def test_a_client_that_asks_first_is_refused_before_it_sends(server: Server) -> None:
    head = f"POST /things/a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: {MAX_BODY + 1}\r\n\r\n"
    assert_refused(send_raw(server, head.encode()), 413)


def test_a_body_of_ten_megabytes_passes(server: Server) -> None:
    status, _, body = ask(server, "POST", "/things/a", b"x" * MAX_BODY)
    assert (status, json.loads(body)["bytes"]) == (200, MAX_BODY)


@pytest.mark.parametrize("length", ["abc", "-1", "+1", "1.5", "0x10", "", "1, 1", "9" * 30, "٣"])
def test_a_content_length_that_is_no_number_is_a_400(server: Server, length: str) -> None:
    head = f"POST /things/a HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n"
    assert_refused(send_raw(server, head.encode()), 400)


def test_two_different_content_lengths_are_a_400(server: Server) -> None:
    head = b"POST /things/a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"
    assert_refused(send_raw(server, head), 400)


def test_a_body_that_ends_early_is_a_400(server: Server) -> None:
    assert_refused(send_raw(server, b"POST /things/a HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc"), 400)


def test_a_chunked_body_is_put_together(server: Server) -> None:
    _, _, body = ask(server, "POST", "/things/a", iter([b"ab", b"c" * 1000, b"d"]))
    assert json.loads(body)["body"] == "ab" + "c" * 1000 + "d"


@pytest.mark.parametrize("chunks", ["zz\r\nab\r\n0\r\n\r\n", "5\r\nab", "-1\r\n", "\r\n\r\n", "fffffffff\r\n", ""])
def test_broken_chunks_are_a_400(server: Server, chunks: str) -> None:
    head = "POST /things/a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert_refused(send_raw(server, (head + chunks).encode()), 400)


def test_chunks_that_add_up_to_too_much_are_a_413(server: Server) -> None:
    head = b"POST /things/a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert_refused(send_raw(server, head + b"a00001\r\n"), 413)


@pytest.mark.parametrize("encoding", ["gzip", "chunked, gzip", "chunked\r\nContent-Length: 3"])
def test_other_transfer_encodings_and_two_lengths_are_a_400(server: Server, encoding: str) -> None:
    head = f"POST /things/a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: {encoding}\r\n\r\n"
    assert_refused(send_raw(server, head.encode() + b"0\r\n\r\n"), 400)


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET /\r\n\r\n", 400),
        (b"GET / HTTP/9.9\r\n\r\n", 505),
        (b"GET / HTTX\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00 \x00\r\n\r\n", 400),
        (b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * 70_000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 200 + b"\r\n", 431),
    ],
    ids=["nonsense", "two words", "version 9", "no version", "tls", "long path", "long header", "many headers"],
)
def test_what_is_no_http_is_refused_in_the_one_shape(server: Server, raw: bytes, status: int) -> None:
    assert_refused(send_raw(server, raw), status)


def test_a_long_path_that_nobody_has_is_a_404(server: Server) -> None:
    assert ask(server, "GET", "/" + "x" * 60_000)[0] == 404


@pytest.mark.parametrize("path", ["/things/%", "/things/%00", "/things/%zz", "/things/a?%", "/things/a?=&=&&"])
def test_odd_paths_and_queries_are_no_errors(server: Server, path: str) -> None:
    assert ask(server, "GET", path)[0] == 200


def test_a_whole_url_as_target_is_its_path(server: Server) -> None:
    raw = send_raw(server, b"GET http://elsewhere.example/things/a HTTP/1.0\r\n\r\n")
    assert raw.startswith("HTTP/1.1 200 ")


def test_bytes_that_are_no_text_reach_the_app_as_they_are(server: Server) -> None:
    _, _, body = ask(server, "POST", "/things/a", b'{"a": "\xff\xfe"}')
    assert json.loads(body)["body"] == '{"a": "\xff\xfe"}'


def test_an_app_that_crashes_is_a_500_without_its_secrets(server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    status, _, body = ask(server, "GET", "/things/a", x_explode="yes")
    assert status == 500
    assert b"secret" not in body
    json.loads(body)


def test_parallel_requests_see_their_own_request(server: Server) -> None:
    seen: list[tuple[str, str]] = []

    def many(name: str) -> None:
        for number in range(25):
            seen.append((f"{name}{number}", json.loads(ask(server, "GET", f"/things/{name}{number}")[2])["token"]))

    threads = [threading.Thread(target=many, args=(name,)) for name in "abcdefgh"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 200
    assert all(asked == answered for asked, answered in seen)


def test_closing_finishes_the_request_that_is_being_served() -> None:
    server = Server(small_app(lambda: server.is_closing), "127.0.0.1", 0)  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    answers: list[Answer] = []
    client = threading.Thread(target=lambda: answers.append(ask(server, "GET", "/slow")))
    client.start()
    while not server.in_flight:
        time.sleep(0.01)
    server.close()
    client.join()
    thread.join()
    assert answers[0][0] == 200
    with pytest.raises(ConnectionError):
        ask(server, "GET", "/slow")
