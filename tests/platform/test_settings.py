"""The environment variables: what each takes, and that everything wrong is named at the start."""

import json
from pathlib import Path

import pytest

from chalicelib.platform.settings import InvalidSettings, Settings

REQUIRED = {
    "STAGE": "local",
    "RESOURCE_PREFIX": "shop",
    "API_URL": "http://api.test",
    "AUTH_URL": "http://auth.test",
    "PAY_URL": "http://pay.test:8000/checkout",
    "EXPLORER_URL": "https://explorer.test",
}


def read(**variables: str) -> Settings:
    return Settings.read({**REQUIRED, **variables})


def test_without_the_optional_variables_the_defaults_hold() -> None:
    assert read() == Settings("local", "shop", "http://api.test", "http://auth.test", "http://pay.test:8000/checkout", "https://explorer.test")
    assert read().page_origin == "http://pay.test:8000"
    assert read(UNKNOWN="anything") == read()
    assert read(log_level="DEBUG").log_level == "DEBUG"


def test_the_pages_origin_is_as_browsers_send_it() -> None:
    for url in ("https://Pay.Shop.example/page", "https://pay.shop.example"):
        assert read(PAY_URL=url).page_origin == "https://pay.shop.example"


def test_every_missing_or_wrong_variable_is_named_at_once() -> None:
    with pytest.raises(InvalidSettings) as refused:
        Settings.read({"STAGE": "test", "API_URL": "http://api.test/", "LINK_LIFETIME_SECONDS": "0"})
    wrong = {"STAGE", "API_URL", "LINK_LIFETIME_SECONDS"}
    assert refused.value.problems.keys() == {*REQUIRED, *wrong}
    assert refused.value.problems["STAGE"] == "must be one of local, dev, prod"
    assert refused.value.problems["AUTH_URL"] == "is missing"
    assert str(refused.value).splitlines()[0] == "STAGE must be one of local, dev, prod"


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("STAGE", ["", "Local", "staging"]),
        ("API_URL", ["", "api.test", "ftp://api.test", "http://api.test/", "http://api.test?x=1", "http://api.test#x", "http://a b"]),
        ("CONFIRMATIONS", ["", "3", "[]", '{"nowhere": 1}', '{"sepolia": 0}', '{"sepolia": "x"}', '{"sepolia": true}', '{"sepolia": 1.5}']),
        ("SCAN_INTERVAL_SECONDS", ["0", "61", "1.5", "x", ""]),
        ("SCAN_INTERVALS", ["5", '{"nowhere": 5}', '{"base": 0}', '{"base": 61}']),
        ("MULTICALL_MAX_CHILDREN", ["1", "1001"]),
        ("WEBHOOK_ALLOW_LOOPBACK", ["", "maybe", "2"]),
        ("HEADER_BRANDS", ["", "service", '"service"', "[1]", "{}"]),
        ("INTEROP_CHECKSUM", ["", "off"]),
        ("TRANSACTION_VALUE_FORM", ["hex"]),
        ("RATE_LIMIT_SCALE", ["0", "-1"]),
        ("SAFE_SERVICE_URLS", ['{"sepolia": "safe.test"}', '{"sepolia": 1}', '{"nowhere": "https://safe.test"}']),
        ("PRICE_API_URL", ["prices.test", "ftp://prices.test", "https://prices.test/", "https://prices.test?x=1"]),
        ("LIFI_BASE_URL", ["li.quest", "https://li.quest/", "https://li.quest?x=1"]),
        ("LIFI_INTEGRATOR", ["", "my shop", "a" * 65]),
        ("ROUTER_SECONDS", ["0", "21"]),
        ("ROUTE_SECONDS", ["9", "601"]),
        ("ROUTE_COST_BPS", ["-1", "1001"]),
        ("ROUTE_COST_DOLLARS", ["-1", "1001", "1.5"]),
        ("PRICE_API_KEY_HEADER", ["x key", "x-key:", "a" * 65]),
        ("PRICE_MAX_AGE_SECONDS", ["0", "x"]),
        ("FEED_MAX_AGE_SECONDS", ["0"]),
        ("RATE_TOLERANCE_BPS", ["-1", "1001", "0.5"]),
        ("QUOTE_SECONDS", ["9", "3601"]),
        ("RELAYER_KEYS", ['{"sepolia": "vault"}', '{"nowhere": "kms"}', '{"tron": "kms"}', '{"sepolia": 1}']),
        ("RELAYER_DAILY_LIMITS", ['{"sepolia": "-1"}', '{"sepolia": "1e3"}', '{"sepolia": 0.5}', '{"sepolia": ".5"}', '{"base": "1,5"}', '{"base": "0.00"}']),
        ("RELAYER_LOW_BALANCES", ['{"sepolia": "0.0000000000000000001"}', '{"sepolia": ""}']),
        ("RELAYER_MAX_FEE_GWEI", ['{"sepolia": 0}', '{"sepolia": 0.5}']),
        ("RELAYER_STUCK_SECONDS", ["9", "x"]),
        (
            "RECURRING_RELAYER_FEES",
            ["[]", "0.05", '{"USDC-nowhere": "1"}', '{"USDC-base": "0.0"}', '{"USDC-base": "-1"}', '{"USDC-base": "0.0000001"}'],
        ),
        ("PAGE_CLIENT_ID", ["", "a b", "a" * 65]),
        ("WALLETCONNECT_PROJECT_ID", ["x", "0" * 31, "0" * 33, "A" * 32, "0" * 31 + '"']),
        ("WALLETCONNECT_RELAY_URL", ["", "https://relay.example", "wss://relay.example/path", "wss://relay.example; script-src *"]),
        ("PAGE_FRAME_ANCESTORS", ['["app.test"]', '["https://APP.test"]', '["https://app.test/path"]']),
        ("LOG_LEVEL", ["info", "TRACE"]),
    ],
)
def test_a_value_that_cannot_be_used_is_refused(name: str, texts: list[str]) -> None:
    for text in texts:
        with pytest.raises(InvalidSettings) as refused:
            read(**{name: text})
        assert refused.value.problems.keys() == {name}, text


def test_values_are_read_in_their_types() -> None:
    settings = read(
        CONFIRMATIONS='{"sepolia": 1, "polygon": 5}',
        SCAN_INTERVAL_SECONDS="60",
        HEADER_BRANDS='["shop"]',
        SAFE_SERVICE_URLS='{"base": "https://safe.test/base"}',
        SESSION_ORIGINS="[]",
        WEBHOOK_ALLOW_LOOPBACK="True",
        RECURRING_RELAYER_FEES='{"USDC-base": "0.05"}',
    )
    assert settings.recurring_relayer_fees == {"USDC-base": "0.05"}
    assert settings.confirmations == {"sepolia": 1, "matic": 5}
    assert (settings.scan_interval_seconds, settings.header_brands, settings.session_origins) == (60, ("shop",), ())
    assert settings.safe_service_urls == {**read().safe_service_urls, "base": "https://safe.test/base"}
    assert settings.webhook_allow_loopback is True
    assert [read(WEBHOOK_ALLOW_LOOPBACK=text).webhook_allow_loopback for text in ("yes", "1", "off", "0")] == [True, True, False, False]
    assert read(SAFE_SERVICE_URLS="{}").safe_service_urls == {}
    assert set(read().safe_service_urls) - set(read(SAFE_SERVICE_URLS='{"base": ""}').safe_service_urls) == {"base"}


def test_each_network_has_its_interval_and_tron_a_slower_one_unless_it_is_set() -> None:
    networks = ("base", "sepolia", "tron")
    assert [read().scan_interval(name) for name in networks] == [5, 5, 15]
    settings = read(SCAN_INTERVAL_SECONDS="7", SCAN_INTERVALS='{"base": 2}')
    assert [settings.scan_interval(name) for name in networks] == [2, 7, 15]
    assert read(SCAN_INTERVALS='{"tron": 30}').scan_interval("tron") == 30


def test_a_private_key_in_a_secret_is_for_test_networks_alone_but_on_the_local_stack() -> None:
    keys = '{"sepolia": "secret", "base": "secret"}'
    assert read(RELAYER_KEYS=keys).relayer_keys == {"sepolia": "secret", "base": "secret"}
    for stage in ("dev", "prod"):
        assert read(STAGE=stage, RELAYER_KEYS='{"sepolia": "secret", "base": "kms"}').relayer_keys["base"] == "kms"
        with pytest.raises(InvalidSettings) as refused:
            read(STAGE=stage, RELAYER_KEYS=keys)
        assert refused.value.problems == {"RELAYER_KEYS": "base: must be kms, as a secret is for test networks"}


def test_the_amounts_of_the_configuration_are_those_of_the_code() -> None:
    written = json.loads((Path(__file__).parents[2] / ".chalice" / "config.json").read_text())["environment_variables"]
    names = {name: text for name, text in written.items() if name.startswith("RELAYER_")}
    assert len(names) == 8 and read(**names) == read()
