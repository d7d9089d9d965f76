"""Requests generated from the OpenAPI document by Schemathesis, and what of its findings is not a defect.

`findings` runs one operation with the credentials of one tenant. Everything is deterministic: the seed is fixed, and
nothing is learned from responses.
"""

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import requests
import schemathesis
from hypothesis import strategies as st
from hypothesis.strategies._internal import lazy
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events, from_schema

from chalicelib.base.addresses import evm_address
from chalicelib.chains.catalogue.interop import Destination, destination_id
from chalicelib.chains.catalogue.tokens import find_tokens
from chalicelib.platform.http.operation import Operation
from tests.platform.http.refusals import is_expected
from tests.support.client import Api, stored
from tests.support.examples import headers_for, prepared
from tests.support.tenants import Tenant, Way

_AS_DECLARED = {"authorization": "Authorization"}  # Schemathesis leaves credentials out by the name in the document
METHODS = ["get", "put", "post", "delete", "patch"]
"""API Gateway answers every other method itself, and the app never sees it."""
TOKENS = [token.address for token in find_tokens(network="sepolia") if token.type == "ERC20"]
_random = Random(8)
WALLETS = [evm_address("0x" + _random.randbytes(20).hex()) for _ in range(30)]
SPELLED = [form for text in WALLETS for form in (text, text.lower(), "0x" + text[2:].upper())]
FORMATS: dict[str, list[str]] = {
    "amount": ["1", "12.50", "0.000001", "1000000", "999999.999999"],
    "evm-address": SPELLED,
    "wallet-address": SPELLED,
    "wallet-address-or-name": [*SPELLED, "shop.eth", "pay.shop.eth"],
    "token-address": TOKENS,
    "chain-id": ["11155111"],
    "currency-id": ["fUSDC-sepolia", "USDC-sepolia"],
    "dollar-token": ["USDC", "fUSDC-sepolia", "USDT-tron", "DAI-mainnet"],
    "network-name": ["sepolia"],
    "destination-id": [destination_id(Destination(wallet, 11155111, TOKENS[0])) for wallet in WALLETS],
    "web-origin": ["https://shop.example", "https://a.b-c.example:8443", "HTTPS://SHOP.EXAMPLE/", "http://localhost:3000"],
    "web-url": ["http://shop.example", "HTTPS://shop.example:65535/a?b=c#d", "https://[2001:DB8::1]:8443/a", "https://b\u00fccher.example/\u00fc"],
    "https-url": ["https://shop.example", "https://shop.example/terms?lang=de#top", "https://[2001:db8::1]:8443/a"],
    "webhook-url": [f"https://93.184.215.{last}/hook?of=shop" for last in range(10, 60)],
    "email-address": ["ann@shop.example", "Ann.B+c@sub.shop.example", "o'brien@b\u00fccher.example"],
    "birth-date": ["1985-12-12", "1900-01-01", "2000-02-29", "1999-12-31"],
    "iban": ["DE89370400440532013000", "GB29 NWBK 6016 1331 9268 19", "FR1420041010050500013M02606"],
    "ip-range": ["203.0.113.7", "203.0.113.0/24", "2001:db8::/32", "127.0.0.1"],
    "start-date": ["2101-02-03", "2101-02-03T04:05:06Z", "2101-02-03T04:05:06.789+05:30"],
    "future-time": ["2101-02-03T04:05:06Z", "2101-02-03T04:05:06.789+05:30", "2101-02-03T04:05-08:00"],
}
"""What a pattern cannot say: checksums, what the catalogue has, what an address on the internet may be."""
for name, texts in FORMATS.items():
    schemathesis.openapi.format(name, st.sampled_from(texts))

lazy.get_pretty_function_description = lambda function: function.__name__  # type: ignore[attr-defined]
"""For the text of a strategy, which nothing here shows: a sixth of the run went into parsing the sources of lambdas."""

requests.sessions.get_environ_proxies = lambda *_, **__: {}
"""For none: every request looked through all variables of the environment."""

ACCEPTED = ["2xx", "401", "403", "404", "409", "423"]
"""What a request that fits its schema may be answered with, by the state of what it names. A 400 has to be listed in
refusals.py; a 422 only follows an idempotency key that was used before, and here each is used once."""


_own: dict[str, str] = {}
"""What stands in the path of the present run's operation and belongs to its tenant."""
_count = itertools.count()
_stored: list[dict[str, int]] = []
_written: list[str] = []
RECORDED = ("log_in", "verify_wallet", "prove_by_password", "prove_by_wallet")
"""Operations that write a refusal to the audit log."""


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    """Names what the tenant owns where the path is to be valid, and no idempotency key twice."""
    key = (case.headers or {}).get("Idempotency-Key", "")
    if 0 < len(key) < 200:
        case.headers["Idempotency-Key"] = f"{key} {next(_count)}"
    if case.meta is not None and case.meta.generation.mode.is_positive:
        case.path_parameters.update(_own)


@schemathesis.hook
def after_call(context: Any, case: Any, response: Any) -> None:
    """Notes refused requests that have written something; a response that is kept for its key is meant to be."""
    _stored.append(stored())
    has_written = len(_stored) > 1 and _stored.pop(0) != _stored[0]
    is_kept = "Idempotency-Key" in (case.headers or {})
    is_recorded = case.operation.definition.raw["operationId"] in RECORDED
    if has_written and response.status_code >= 400 and not is_kept and not is_recorded:
        _written.append(f"refused, and written: {response.request.method} {response.request.url}")


@dataclass
class Run:
    """What one run sent and found."""

    statuses: dict[int, int]
    findings: list[str]


def run(api: Api, document: dict[str, Any], known: Operation, way: Way, examples: int) -> Run:
    """Sends every boundary case and `examples` random requests of an operation."""
    tenant = Tenant()
    _own.clear()
    _stored.clear()
    _written.clear()
    _own.update(prepared(known, tenant, way).path)
    config = SchemathesisConfig.from_dict(
        {
            "base-url": f"http://127.0.0.1:{api.port}",
            "headers": {_AS_DECLARED.get(name, name): text for name, text in headers_for(known, tenant, way).items()},
            "continue-on-failure": True,
            "checks": {"positive_data_acceptance": {"expected-statuses": ACCEPTED}},
            "generation": {
                "max-examples": examples,
                "deterministic": True,
                "no-shrink": True,
                "database": "none",
                "with-security-parameters": False,  # a generated one would take the place of the tenant's
            },
            "phases": {
                "stateful": {"enabled": False},
                "examples": {"enabled": False},
                "coverage": {"unexpected-methods": METHODS, "extra-data-sources": {"responses": False}},
                "fuzzing": {"extra-data-sources": {"responses": False}, "error-feedback": {"enabled": False}},
            },
        }
    )
    schema = schemathesis.openapi.from_dict(document, config=config).include(operation_id=known.name)
    _stored.append(stored())
    result = Run({}, [])
    for event in from_schema(schema).execute():
        if isinstance(event, events.ScenarioFinished):
            for interaction in event.recorder.interactions.values():
                status = interaction.response.status_code if interaction.response else 0
                result.statuses[status] = result.statuses.get(status, 0) + 1
            result.findings += _failures(known, event.recorder)
        elif isinstance(event, events.NonFatalError | events.FatalError):
            result.findings.append(str(getattr(event, "info", None) or getattr(event, "exception", None)))
    result.findings += _written
    return result


def _failures(known: Operation, recorder: Any) -> Iterator[str]:
    for case_id, checks in recorder.checks.items():
        for check in checks:
            if check.failure_info is None:
                continue
            interaction = recorder.interactions[case_id]
            body = interaction.response.content if interaction.response else b""
            if check.name == "positive_data_acceptance" and is_expected(known.name, _json(body)):
                continue
            sent = interaction.request
            facts = f"{sent.method} {sent.uri} {(sent.body or b'')[:2000]!r} -> {body[:600]!r}"
            yield f"{check.name}: {check.failure_info.failure.message[:300]}\n{facts}"


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None
