"""Events of the provider: who may send one, when, and about whom. What is refused changes nothing."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.errors import BadRequest, Forbidden, ServiceError, Unauthorized
from chalicelib.offramp.payers import inbound, reports
from chalicelib.offramp.payers.inbound import TOLERANCE, check_event, signature
from chalicelib.platform.outbound.compliance import ProviderAccount, ProviderOrder, ProviderUser
from infra.local.provider import ACCOUNT, SECRET, sign_headers
from tests.fakes.world import START, World
from tests.offramp.payers.people import payer, register

NOW = int(START.timestamp())
USER = {"id": "user", "sequence": 2, "kycStatus": "approved", "agreementStatus": "completed"}
BANK = {"id": "bank", "userId": "user", "sequence": 2, "status": "approved", "reason": None}
ORDER = {
    "id": "order",
    "userId": "user",
    "bankAccountId": "bank",
    "sequence": 3,
    "status": "sending_fiat",
    "reason": None,
    "providerId": "ord_1",
    "depositAddress": "0x" + "ab" * 20,
    "amount": "12.5",
    "fee": "0.5",
}


def event(data: Any = None, **changes: Any) -> bytes:
    return json.dumps({"id": "evt_1", "account": ACCOUNT, "kind": "user", "data": data or USER, **changes}).encode()


def refusal(world: World, headers: dict[str, str], raw: bytes) -> tuple[int, str]:
    with pytest.raises(ServiceError) as refused:
        check_event(world.services, headers, raw)
    return refused.value.status, refused.value.message


def test_an_event_carries_the_state_of_its_subject(world: World) -> None:
    for kind, data, wanted in (
        ("user", USER, ProviderUser("user", 2, "approved", "completed")),
        ("bank_account", BANK, ProviderAccount("bank", "user", 2, "approved")),
        (
            "order",
            ORDER,
            ProviderOrder("order", "user", "bank", 3, "sending_fiat", "ord_1", "0x" + "ab" * 20, "12.5", "0.5"),
        ),
    ):
        raw = event(data, kind=kind)
        assert check_event(world.services, sign_headers(raw, NOW), raw) == wanted


def test_the_signature_is_the_documented_one() -> None:
    """Computed with openssl: printf '1773568800.{}' | openssl dgst -sha256 -hmac secret."""
    assert signature("secret", "1773568800", b"{}") == (
        "754c76c0d8f8d120b05d979f50041075f82081d642d382780c2c685313801fcf"
    )


@pytest.mark.parametrize("seconds", [0, TOLERANCE.total_seconds(), -TOLERANCE.total_seconds()])
def test_an_event_within_five_minutes_is_taken(world: World, seconds: float) -> None:
    raw = event()
    assert check_event(world.services, sign_headers(raw, NOW + int(seconds)), raw)


@pytest.mark.parametrize("seconds", [301, -301, 86_400])
def test_an_event_of_another_time_is_a_copy(world: World, seconds: int) -> None:
    raw = event()
    assert refusal(world, sign_headers(raw, NOW + seconds), raw) == (401, "The event is too old: sign it anew")


def without(name: str) -> dict[str, str]:
    return {key: value for key, value in sign_headers(event(), NOW).items() if key != name}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        without("x-provider-signature"),
        without("x-provider-timestamp"),
        sign_headers(event(), NOW, "another secret"),
        sign_headers(event(kind="order"), NOW),
        {**sign_headers(event(), NOW), "x-provider-timestamp": str(NOW + 1)},
        {**sign_headers(event(), NOW), "x-provider-timestamp": "soon"},
        {**sign_headers(event(), NOW), "x-provider-timestamp": "\u0661"},
        sign_headers(event(), 10**12),
        sign_headers(event(), 10**4299),
        {**sign_headers(event(), NOW), "x-provider-signature": "é" * 64},
        {**sign_headers(event(), NOW), "x-provider-signature": ""},
    ],
)
def test_a_forged_event_is_refused(world: World, headers: dict[str, str]) -> None:
    assert refusal(world, headers, event()) == (401, "Invalid signature")


def test_without_a_secret_no_event_is_taken(world: World) -> None:
    class NoSecrets:
        compliance_webhook_secret = None

    world.services = replace(world.services, secrets=NoSecrets())  # type: ignore[arg-type]
    raw = event()
    assert refusal(world, sign_headers(raw, NOW, ""), raw) == (401, "Invalid signature")


def test_an_event_of_another_account_is_refused(world: World) -> None:
    for account in ("another", "", None, ["local"]):
        raw = event(account=account)
        assert refusal(world, sign_headers(raw, NOW), raw) == (403, "The event is of another account")


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"{" * 900,
        event(kind="invoice"),
        event(kind=["user"]),
        event({**USER, "kycStatus": "unheard_of"}),
        event({**USER, "sequence": -1}),
        event({"id": "user"}),
        event(BANK),
        event({**BANK, "status": "lost"}, kind="bank_account"),
        event({**ORDER, "depositAddress": "0x1"}, kind="order"),
        event({**ORDER, "fee": "-1"}, kind="order"),
        json.dumps({"account": ACCOUNT, "kind": "user", "data": USER}).encode(),
        *(event(id=each) for each in ("", "evt\0", "evt\n", "e" * 300, 1, None, ["evt"])),
        event({**USER, "id": "user\0"}),
        event({**ORDER, "providerId": "\0"}, kind="order"),
    ],
)
def test_what_is_signed_and_no_event_is_refused(world: World, raw: bytes) -> None:
    assert refusal(world, sign_headers(raw, NOW), raw) == (400, "The event is not in the documented form")


def test_a_body_is_bounded(world: World) -> None:
    largest = event().ljust(16 * 1024)
    assert check_event(world.services, sign_headers(largest, NOW), largest)
    raw = largest + b" "
    assert refusal(world, sign_headers(raw, NOW), raw) == (413, "The event is larger than 16 kB")
    assert refusal(world, sign_headers(raw, NOW, "another secret"), raw) == (401, "Invalid signature")


@given(raw=st.binary(max_size=200), signature=st.text(max_size=70), timestamp=st.text(max_size=20))
def test_no_bytes_of_a_stranger_do_more_than_a_refusal(raw: bytes, signature: str, timestamp: str) -> None:
    world = World(object())
    headers = {"x-provider-signature": signature, "x-provider-timestamp": timestamp}
    with pytest.raises(Unauthorized):
        check_event(world.services, headers, raw)


@given(data=st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=9), lambda inner: st.lists(
    inner, max_size=3) | st.dictionaries(st.sampled_from([*ORDER, "kind", "account", "data"]), inner, max_size=5)))
def test_whatever_the_provider_signs_is_an_event_or_refused(data: Any) -> None:
    world = World(object())
    for kind in ("user", "bank_account", "order"):
        raw = event(data, kind=kind)
        try:
            check_event(world.services, sign_headers(raw, NOW, SECRET), raw)
        except (BadRequest, Forbidden):
            continue


def test_an_event_that_is_repeated_or_late_changes_nothing(world: World) -> None:
    made = register(world)
    newest = {**USER, "id": made.user_id, "sequence": 4}
    for data in (newest, newest, {**newest, "sequence": 3, "kycStatus": "pending"}):
        raw = event(data)
        subject = inbound.check_event(world.services, sign_headers(raw, NOW), raw)
        assert isinstance(subject, ProviderUser)
        reports.take_user(world.services, subject)
        assert (payer(world).sequence, payer(world).kyc_status) == (4, "approved")
