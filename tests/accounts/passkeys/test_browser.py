"""Passkeys in Chromium, whose virtual authenticator is the other side: registered, signed in with, and kept apart."""

import itertools
import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Error

from tests.support.api import Configured
from tests.support.client import Api
from tests.support.device import Device
from tests.support.running_browser import running_browser

PASSWORD = "correct horse"
_numbers = itertools.count()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as browser:
        yield browser


@pytest.fixture
def device(api: Api, configured: Configured, browser: Browser) -> Iterator[Device]:
    """Somebody who is registered and signed in by e-mail address in a browser."""
    url = f"http://localhost:{api.port}"
    with configured(AUTH_URL=url, API_URL=url):
        context = browser.new_context()
        one = Device.at(context, url, f"ann{next(_numbers)}@passkeys.example")
        one.send("POST", "/v1/auth/register", {"email": one.email, "password": PASSWORD})
        assert one.send("POST", "/v1/auth/login", {"email": one.email, "password": PASSWORD})[0] == 200
        yield one
        context.close()


def test_a_passkey_of_a_browser_signs_in_without_a_name_and_proves_presence(device: Device) -> None:
    device.register()
    (kept,) = device.credentials()
    assert kept["isResidentCredential"] and kept["rpId"] == "localhost"
    assert device.send("POST", "/v1/auth/logout")[0] == 200
    assert device.send("GET", "/v1/auth/me")[0] == 401
    assert device.sign_in() == (200, {})
    status, me = device.send("GET", "/v1/auth/me")
    assert (status, me["email"], me["provedBy"], me["proofs"]) == (200, device.email, "passkey", ["passkey", "password"])
    credential = device.assertion("/v1/auth/proofs/passkey/options")
    status, proved = device.send("POST", "/v1/auth/proofs/passkey", {"credential": credential})
    assert (status, proved["provedBy"]) == (200, "passkey")
    again, refusal = device.send("POST", "/v1/auth/proofs/passkey", {"credential": credential})
    assert again == 401 and "ask for new options" in refusal["message"]
    assert [each["name"] for each in device.send("GET", "/v1/passkeys")[1]] == ["laptop"]


def test_a_second_passkey_needs_another_device_and_a_removed_one_signs_nobody_in(device: Device) -> None:
    passkey_id = device.register()
    assert device.send("DELETE", f"/v1/passkeys/{passkey_id}")[0] == 403, "a password is no proof of it any more"
    assert device.sign_in()[0] == 200
    with pytest.raises(Error, match="InvalidStateError"):
        device.register()
    assert device.send("DELETE", f"/v1/passkeys/{passkey_id}")[0] == 200
    assert device.sign_in()[0] == 401


def test_a_counter_that_goes_back_is_refused_unless_the_passkey_is_synced(device: Device) -> None:
    device.register()
    assert device.sign_in()[0] == 200
    (kept,) = device.credentials()
    device.cdp.send("WebAuthn.removeCredential", {"authenticatorId": device.authenticator, "credentialId": kept["credentialId"]})
    device.cdp.send("WebAuthn.addCredential", {"authenticatorId": device.authenticator, "credential": {**kept, "signCount": 0}})
    assert device.sign_in()[0] == 401
    synced = {"backupEligibility": True, "backupState": True}
    device.cdp.send("WebAuthn.setCredentialProperties", {
        "authenticatorId": device.authenticator, "credentialId": kept["credentialId"], **synced,
    })
    assert device.sign_in()[0] == 401, "whether it can be synced does not change"


def test_whoever_is_not_verified_and_another_site_gets_no_answer_that_counts(device: Device) -> None:
    device.register()
    device.cdp.send("WebAuthn.setUserVerified", {"authenticatorId": device.authenticator, "isUserVerified": False})
    unverified = device.assertion(userVerification="discouraged")
    assert device.send("POST", "/v1/auth/passkey", {"credential": unverified})[0] == 401
    device.cdp.send("WebAuthn.setUserVerified", {"authenticatorId": device.authenticator, "isUserVerified": True})
    with pytest.raises(Error, match="SecurityError"):
        device.assertion(rpId="evil.example")


def test_a_session_of_a_password_alone_does_nothing_where_a_second_factor_is_demanded(device: Device) -> None:
    device.register()
    credential = device.assertion("/v1/auth/proofs/passkey/options")
    assert device.send("POST", "/v1/auth/proofs/passkey", {"credential": credential})[0] == 200
    assert device.send("PUT", "/v1/account", {"requireSecondFactor": True})[0] == 200
    assert device.send("POST", "/v1/auth/login", {"email": device.email, "password": PASSWORD})[0] == 200
    status, refusal = device.send("GET", "/v1/members")
    assert (status, refusal["code"], refusal["proofs"]) == (403, "second_factor_required", ["passkey"])
    assert device.send("GET", "/v1/auth/me")[1]["secondFactorMissing"] is True
    assert device.send("POST", "/v1/passkeys/options")[0] == 403, "nobody adds a passkey by a password alone"
    credential = device.assertion("/v1/auth/proofs/passkey/options")
    assert device.send("POST", "/v1/auth/proofs/passkey", {"credential": credential})[0] == 200
    assert device.send("GET", "/v1/members")[0] == 200
    assert json.dumps(device.send("GET", "/v1/audit")[1]).count("session.proved") == 2
