"""The Safe Transaction Service may answer anything: what is not its documented form is no answer."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from chalicelib.base.addresses import ZERO_ADDRESS
from chalicelib.base.money import MAX_UINT256
from chalicelib.chains.calldata.wallets.safe import SafeTerms, SafeTransaction
from chalicelib.chains.nodes.rpc import http_client
from chalicelib.chains.nodes.safes import service as safe_service
from chalicelib.chains.nodes.safes.records import Proposal, SafeState
from chalicelib.chains.nodes.safes.service import SafeService, SafeServiceUnavailable
from tests.support.patience import patience

HASH = "0x" + "ab" * 32
SAFE = "0x9641d764fc13c8B624c04430C7356C1C7C8102e2"
TOKEN, PAYEE = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "0xf17f52151EbEF6C7334FAD080c5704D77216b732"
ANSWER = {
    "safe": SAFE,
    "to": TOKEN,
    "value": "1000000000000000000",
    "data": "0x1234",
    "operation": 1,
    "gasToken": PAYEE,
    "safeTxGas": 3,
    "baseGas": 4,
    "gasPrice": "5",
    "refundReceiver": SAFE,
    "nonce": 7,
    "safeTxHash": HASH,
    "isExecuted": False,
    "confirmations": [],
}
PROPOSAL = Proposal(
    SAFE, SafeTransaction(TOKEN, 10**18, "0x1234", 1), SafeTerms(7, 3, 4, 5, gas_token=PAYEE, refund_receiver=SAFE)
)


class Service(ThreadingHTTPServer):
    """Answers everything with one status and body, once it may; `asked` keeps the paths, `posted` the bodies."""

    daemon_threads = False  # closing waits for the last answer
    status, body = 200, b""
    headers: ClassVar[dict[str, str]] = {}

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[str] = []
        self.authorizations: list[str | None] = []
        self.posted: list[Any] = []
        self.may_answer = threading.Event()
        self.may_answer.set()
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def ask(self) -> Proposal | None:
        return SafeService({"sepolia": self.url + "/sep"}).transaction("sepolia", HASH)

    def says(self, answer: Any) -> None:
        self.body = json.dumps(answer).encode()


class Handler(BaseHTTPRequestHandler):
    server: Service

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        self.server.authorizations.append(self.headers["authorization"])
        self.server.may_answer.wait(patience())
        self.send_response(self.server.status)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            self.wfile.write(self.server.body)
        except OSError:
            return  # the client has read enough

    def do_POST(self) -> None:
        self.server.posted.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        self.do_GET()

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def service() -> Iterator[Service]:
    running = Service()
    yield running
    running.shutdown()
    running.server_close()


def test_a_transaction_is_looked_up_by_its_hash(service: Service) -> None:
    service.says(ANSWER)
    assert service.ask() == PROPOSAL
    service.says({**ANSWER, "nonce": "7", "safeTxGas": "3", "baseGas": "4"})
    assert service.ask() == PROPOSAL
    nothing = {**ANSWER, "data": None, "gasToken": None, "refundReceiver": None, "to": None, "value": str(MAX_UINT256)}
    service.says(nothing)
    terms = SafeTerms(7, 3, 4, 5)
    assert service.ask() == Proposal(SAFE, SafeTransaction(ZERO_ADDRESS, MAX_UINT256, "0x", 1), terms)
    assert set(service.asked) == {f"/sep/api/v1/multisig-transactions/{HASH}/"}


def test_what_the_service_does_not_know_is_nothing(service: Service) -> None:
    service.status, service.body = 404, b'{"detail": "Not found."}'
    assert service.ask() is None


def test_each_network_is_asked_with_its_own_key_which_is_read_when_it_is_needed(service: Service) -> None:
    service.says(ANSWER)
    keys = dict[str, str]()
    safes = SafeService(dict.fromkeys(("sepolia", "base", "mainnet"), service.url), keys.get)
    keys |= {"sepolia": "first", "base": "second"}
    for network in ("sepolia", "base", "mainnet", "sepolia"):
        safes.transaction(network, HASH)
    keys["sepolia"] = "another"
    safes.transaction("sepolia", HASH)
    assert service.authorizations == ["Bearer first", "Bearer second", None, "Bearer first", "Bearer another"]


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (401, "wants a key, or refuses the one in the secret"),
        (403, "does not allow this to the key in the secret"),
        (429, "allows no more requests for now"),
        (301, "has moved to https://elsewhere.example/v2"),
        (308, "has moved to https://elsewhere.example/v2"),
        (500, "does not answer as it should: status 500"),
    ],
)
def test_refusals_of_the_service_are_told_apart(service: Service, status: int, says: str) -> None:
    service.status, service.headers = status, {"Location": "https://elsewhere.example/v2"}  # type: ignore[misc]
    with pytest.raises(SafeServiceUnavailable, match=says):
        service.ask()


def test_it_is_known_which_networks_have_a_service() -> None:
    known = SafeService({"sepolia": "http://127.0.0.1:9"})
    assert (known.serves("sepolia"), known.serves("base")) == (True, False)


def test_the_longest_data_is_what_a_transaction_can_hold(service: Service) -> None:
    longest = "0x" + "ab" * 128 * 1024
    service.says({**ANSWER, "data": longest, "dataDecoded": {"parameters": [longest, longest]}})
    found = service.ask()
    assert found is not None and found.transaction.data == longest
    service.says({**ANSWER, "data": longest + "ab"})
    with pytest.raises(SafeServiceUnavailable):
        service.ask()


@pytest.mark.parametrize(
    "change",
    [
        {"safe": "0x12"},
        {"safe": 7},
        {"safe": None},
        {"nonce": -1},
        {"nonce": 1.5},
        {"nonce": True},
        {"nonce": "0x7"},
        {"nonce": "9" * 5_000},
        {"nonce": None},
        {"nonce": 2**63},
        {"to": "0x12"},
        {"to": 7},
        {"value": str(MAX_UINT256 + 1)},
        {"value": -1},
        {"value": None},
        {"data": "1234"},
        {"data": "0x123"},
        {"data": "0x1234\n"},
        {"data": 7},
        {"operation": 2},
        {"operation": False},
        {"safeTxGas": ""},
        {"baseGas": []},
        {"gasPrice": "1e3"},
        {"gasToken": "0x"},
        {"refundReceiver": True},
    ],
)
def test_a_field_of_another_type_is_no_answer(service: Service, change: dict[str, Any]) -> None:
    service.says({**ANSWER, **change})
    with pytest.raises(SafeServiceUnavailable):
        service.ask()


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>busy</html>", b"null", b"[]", b"7", b'"text"', b"{}", b"\xff\xfe", b"[" * 5_000, b"9" * 10_000],
)
def test_a_body_of_another_form_is_no_answer(service: Service, body: bytes) -> None:
    service.body = body
    with pytest.raises(SafeServiceUnavailable):
        service.ask()


def test_a_huge_body_is_not_read_to_its_end(service: Service) -> None:
    service.says({**ANSWER, "data": "x" * 50_000_000})
    with pytest.raises(SafeServiceUnavailable):
        service.ask()


@pytest.mark.parametrize("status", [201, 204, 301, 302, 400, 401, 403, 429, 500, 502, 503])
def test_any_other_status_is_no_answer(service: Service, status: int) -> None:
    service.says(ANSWER)
    service.status, service.headers = status, {"location": service.url + "/elsewhere"}
    with pytest.raises(SafeServiceUnavailable):
        service.ask()
    assert len(service.asked) == 1


def test_a_service_that_is_slow_or_away_is_no_answer(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "READ_SECONDS", 0.2)
    service.says(ANSWER)
    service.may_answer.clear()
    with pytest.raises(SafeServiceUnavailable):
        service.ask()
    service.may_answer.set()
    with pytest.raises(SafeServiceUnavailable):
        SafeService({"sepolia": "http://127.0.0.1:9"}).transaction("sepolia", HASH)


def test_numbers_are_accepted_up_to_the_largest_of_their_kind(service: Service) -> None:
    service.says({**ANSWER, "nonce": 2**63 - 1, "value": "7".rjust(79, "0"), "safeTxGas": MAX_UINT256, "operation": 0})
    found = service.ask()
    assert found is not None
    assert (found.terms.nonce, found.transaction.value) == (2**63 - 1, 7)
    assert (found.terms.safe_tx_gas, found.transaction.operation) == (MAX_UINT256, 0)
    service.says({**ANSWER, "value": "7".rjust(80, "0")})
    with pytest.raises(SafeServiceUnavailable) as refused:
        service.ask()
    assert refused.value.status == 503


def test_a_response_may_have_two_megabytes() -> None:
    assert safe_service._MAX_RESPONSE_BYTES == 2_097_152


def test_a_safe_has_owners_a_nonce_and_what_is_queued_from_there_on(service: Service) -> None:
    other = {**ANSWER, "nonce": 6}
    service.says({"owners": [PAYEE.lower(), TOKEN], "nonce": "7", "threshold": 2, "results": [ANSWER, other]})
    found = SafeService({"sepolia": service.url}).safe("sepolia", SAFE)
    assert found == SafeState((PAYEE, TOKEN), 7, (PROPOSAL,)), "of the lower nonce another one was executed"
    queue = "executed=false&nonce__gte=7&ordering=-nonce&limit=50"
    assert service.asked == [f"/api/v1/safes/{SAFE}/", f"/api/v1/safes/{SAFE}/multisig-transactions/?{queue}"]
    service.status = 404
    assert SafeService({"sepolia": service.url}).safe("sepolia", SAFE) is None


@pytest.mark.parametrize("answer", [{"owners": ["0x12"], "nonce": 7}, {"owners": [], "nonce": -1}, {"nonce": 7}, {"owners": [], "nonce": 7}])
def test_a_safe_of_another_form_is_no_answer(service: Service, answer: Any) -> None:
    """The last one has no queue."""
    service.says(answer)
    with pytest.raises(SafeServiceUnavailable):
        SafeService({"sepolia": service.url}).safe("sepolia", SAFE)


def test_a_proposal_has_every_value_that_was_signed(service: Service) -> None:
    service.status = 201
    SafeService({"sepolia": service.url}, lambda network: "k").propose("sepolia", PROPOSAL, HASH, PAYEE, b"\x01" * 65)
    assert (service.asked, service.authorizations) == ([f"/api/v1/safes/{SAFE}/multisig-transactions/"], ["Bearer k"])
    signed = {name: ANSWER[name] for name in ("to", "value", "data", "operation", "gasToken", "gasPrice", "refundReceiver", "nonce")}
    sent = {"safeTxGas": "3", "baseGas": "4", "contractTransactionHash": HASH, "sender": PAYEE, "signature": "0x" + "01" * 65}
    assert service.posted == [{**signed, **sent}]


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (401, "wants a key"), (403, "does not allow this"), (429, "allows no more requests"),
        (422, "does not answer as it should: status 422"), (500, "status 500"),
    ],
)  # fmt: skip
def test_a_proposal_that_the_service_refuses_is_not_made(service: Service, status: int, says: str) -> None:
    service.status = status
    with pytest.raises(SafeServiceUnavailable, match=says):
        SafeService({"sepolia": service.url}).propose("sepolia", PROPOSAL, HASH, PAYEE, b"\x01" * 65)
