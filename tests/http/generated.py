"""Requests generated from the OpenAPI document by Schemathesis, and what of its findings is no defect.

`findings` runs one operation with the credentials of one tenant. Everything is deterministic: the seed is fixed, and
nothing is learned from responses.
"""

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import schemathesis
from hypothesis import strategies as st
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events, from_schema

from chalicelib.base.addresses import evm_address
from chalicelib.catalogue.interop import Destination, destination_id
from chalicelib.catalogue.tokens import find_tokens
from chalicelib.http.operation import Operation
from tests.http.refusals import is_expected
from tests.support.client import Api
from tests.support.examples import headers_for, prepared
from tests.support.tenants import Tenant, Way

METHODS = ["get", "put", "post", "delete", "patch"]
"""API Gateway answers every other method itself, and the app never sees it."""
TOKENS = [token for token in find_tokens(network="sepolia") if token.type == "ERC20"]
EVM = st.binary(min_size=20, max_size=20).filter(any).map(lambda raw: evm_address("0x" + raw.hex()))
SPELLED = EVM.flatmap(lambda text: st.sampled_from([text, text.lower(), "0x" + text[2:].upper()]))
AMOUNTS = st.decimals("0.000001", "1000000", places=6, allow_nan=False).map(lambda number: f"{number:f}")
TIMES = st.datetimes(timezones=st.timezones()).filter(lambda time: time.year in range(2100, 9000))
FORMATS: dict[str, st.SearchStrategy[str]] = {
    "amount": AMOUNTS,
    "evm-address": SPELLED,
    "wallet-address": SPELLED,
    "token-address": st.sampled_from([token.address for token in TOKENS]),
    "chain-id": st.just("11155111"),
    "currency-id": st.just("fUSDC-sepolia"),
    "dollar-token": st.sampled_from(["USDC", "fUSDC-sepolia", "USDT-tron", "DAI-mainnet"]),
    "network-name": st.just("sepolia"),
    "destination-id": EVM.map(lambda wallet: destination_id(Destination(wallet, 11155111, TOKENS[0].address))),
    "web-origin": st.from_regex(r"https://[a-z]([a-z0-9-]{0,20}[a-z0-9])?\.example(:8443)?", fullmatch=True),
    "https-url": st.from_regex(r"https://[a-z]{1,20}\.example(/[a-z]{0,9})?(\?[a-z]{0,5})?", fullmatch=True),
    "webhook-url": st.from_regex(r"https://93\.184\.215\.(1[0-9]|[2-9])(/[a-z]{0,9})?(\?[a-z]{0,5})?", fullmatch=True),
    "email-address": st.from_regex(r"[a-z0-9.+]{1,20}@[a-z]{1,20}\.example", fullmatch=True),
    "ip-range": st.ip_addresses().map(str) | st.ip_addresses(v=4).map(lambda address: f"{address}/24"),
    "future-time": TIMES.map(lambda time: time.isoformat()),
}
"""What a pattern cannot say: checksums, what the catalogue has, what an address on the internet may be."""
for name, strategy in FORMATS.items():
    schemathesis.openapi.format(name, strategy)

ACCEPTED = ["2xx", "401", "403", "404", "409", "423"]
"""What a request that fits its schema may be answered with, by the state of what it names. A 400 has to be listed in
refusals.py; a 422 only follows an idempotency key that was used before, and here each is used once."""


_own: dict[str, str] = {}
"""What stands in the path of the present run's operation and belongs to its tenant."""
_count = itertools.count()


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    """Names what the tenant owns where the path is to be valid, and no idempotency key twice."""
    key = (case.headers or {}).get("Idempotency-Key", "")
    if 0 < len(key) < 200:
        case.headers["Idempotency-Key"] = f"{key} {next(_count)}"
    if case.meta is not None and case.meta.generation.mode.is_positive:
        case.path_parameters.update(_own)


@dataclass
class Run:
    """What one run sent and found."""

    statuses: dict[int, int]
    findings: list[str]


def run(api: Api, document: dict[str, Any], known: Operation, way: Way, examples: int) -> Run:
    """Sends every boundary case and `examples` random requests of an operation."""
    tenant = Tenant()
    _own.clear()
    _own.update(prepared(known, tenant, way).path)
    config = SchemathesisConfig.from_dict(
        {
            "base-url": f"http://127.0.0.1:{api.port}",
            "headers": headers_for(known, tenant, way),
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
    result = Run({}, [])
    for event in from_schema(schema).execute():
        if isinstance(event, events.ScenarioFinished):
            for interaction in event.recorder.interactions.values():
                status = interaction.response.status_code if interaction.response else 0
                result.statuses[status] = result.statuses.get(status, 0) + 1
            result.findings += _failures(known, event.recorder)
        elif isinstance(event, events.NonFatalError | events.FatalError):
            result.findings.append(str(getattr(event, "info", None) or getattr(event, "exception", None)))
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
