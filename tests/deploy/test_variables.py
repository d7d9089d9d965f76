"""What the environment variables of a stage are checked for, before anything of it is made."""

import json
from dataclasses import fields
from typing import Any

import pytest

from chalicelib.chains.catalogue.networks import ALL_NETWORKS
from chalicelib.platform.settings import Settings
from infra.configuration import stages, variables_of
from infra.stack import DeploymentStopped
from infra.variables import MOST_BYTES, check_settings

URLS = dict.fromkeys(("API_URL", "AUTH_URL", "PAY_URL", "EXPLORER_URL"), f"https://{'a' * 40}.example.com")


def prod(**changes: str) -> dict[str, str]:
    return {**variables_of("prod"), **URLS, **changes}


@pytest.mark.parametrize("stage", stages())
def test_the_settings_of_each_stage_are_those_of_the_service(stage: str) -> None:
    check_settings(stage, {**variables_of(stage), **URLS, "ARCHIVE_BUCKET": "payment-requests-archive"})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"RESOURCE_PREFIX": "payment-request-prod"}, "RESOURCE_PREFIX is 'payment-request-prod', and has to be 'payment-requests-prod'"),
        ({"RESOURCE_PREFIX": "payment-requests-dev"}, "has to be 'payment-requests-prod'"),
        ({"STAGE": "dev"}, "STAGE is 'dev', and has to be 'prod'"),
        ({"CONFIRMATION": "{}"}, "CONFIRMATION is not a setting: is CONFIRMATIONS meant?"),
        ({"Quote_Second": "5"}, "Quote_Second is not a setting"),
        ({"XYZZY": "5"}, "XYZZY is not a setting\n"),
        ({"QUOTE_SECONDS": "0"}, "QUOTE_SECONDS must be"),
        ({"API_URL": ""}, "API_URL "),
        ({"HEADER_BRANDS": json.dumps(["a" * 4_000])}, "and Lambda takes 4096; the longest are HEADER_BRANDS (4017)"),
    ],
)
def test_what_functions_could_not_start_with_is_refused_by_name(changes: dict[str, str], said: str) -> None:
    with pytest.raises(DeploymentStopped) as stopped:
        check_settings("prod", prod(**changes))
    assert said in f"{stopped.value}\n"


def test_all_problems_are_said_at_once() -> None:
    with pytest.raises(DeploymentStopped) as stopped:
        check_settings("prod", prod(STAGE="dev", LOG_LEVELS="INFO", QUOTE_SECONDS="x"))
    assert len(str(stopped.value).splitlines()) == 4


def test_every_option_can_be_set_at_once_within_what_lambda_takes() -> None:
    """With an override of each network, and the longest values that are used."""
    evm = [each.name for each in ALL_NETWORKS if each.relayer is not None]
    of_each: dict[str, Any] = {
        "CONFIRMATIONS": dict.fromkeys([*evm, "tron"], 99),
        "SCAN_INTERVALS": dict.fromkeys([*evm, "tron"], 60),
        "HEADERS_EVERY": dict.fromkeys(evm, 100),
        "SCAN_WAITS": evm,
        "UNPROVED_ACCEPTED": ["tron"],
        "SAFE_SERVICE_URLS": dict.fromkeys(evm, "https://safe.example.com/tx-service/arb1"),
        "RELAYER_KEYS": dict.fromkeys(evm, "kms"),
        "RELAYER_DAILY_LIMITS": dict.fromkeys(evm, "100.25"),
        "RELAYER_LOW_BALANCES": dict.fromkeys(evm, "0.005"),
        "RELAYER_MAX_FEE_GWEI": dict.fromkeys(evm, 1000),
        "RECURRING_RELAYER_FEES": {f"USDC-{name}": "0.05" for name in evm},
        "RELAYER_WALLET_FACTORIES": ["0x" + "a" * 40] * 3,
        "SESSION_ORIGINS": ["https://dashboard.example.com", "https://staging.example.com"],
        "ESCROW_CONTRACTS": {"sepolia": dict.fromkeys(("escrow", "preApproval", "erc3009", "permit2", "operatorRefund"), "0x" + "a" * 40)},
        "PAGE_FRAME_ANCESTORS": ["https://app.safe.global", "https://shop.example.com"],
    }
    texts = {name: json.dumps(value, separators=(",", ":")) for name, value in of_each.items()}
    for name in ("PRICE_API_URL", "COMPLIANCE_API_URL"):
        texts[name] = "https://provider.example.com/api/v3"
    for name in ("COMPLIANCE_ACCOUNT", "SESSION_DOMAIN"):
        texts[name] = "payments.example.com"
    texts["WALLETCONNECT_PROJECT_ID"] = "0" * 32
    texts["SILENT_NODES_SECONDS"], texts["LIFI_BASE_URL"] = "600", "https://li.quest"
    every = prod(**texts, TRUSTED_PROXY_HEADER="x-real-client-address", ARCHIVE_BUCKET="b" * 63, ARCHIVE_AFTER_DAYS="3660")
    missing = {each.name.upper() for each in fields(Settings)} - {"WALLETCONNECT_RELAY_URL"} - every.keys()  # for tests
    assert not missing, f"give {missing} the longest values that are used, in tests/deploy/test_variables.py"
    check_settings("prod", every)
    assert sum(len(name + text) for name, text in every.items()) < MOST_BYTES * 0.99
