"""What is a valid passkey and a valid assertion, as an independent implementation says: the verdicts are recorded."""

import json
from pathlib import Path
from typing import Any

import pytest

from chalicelib.accounts.passkeys.records import Passkey
from chalicelib.accounts.passkeys.rules import RelyingParty, Verified, decode_base64url
from chalicelib.accounts.passkeys.verification import verify_assertion, verify_registration
from chalicelib.base.errors import ServiceError
from tests.fakes.world import START

CASES = json.loads(Path(__file__).with_name("simplewebauthn.json").read_text())["cases"]


def verdict(case: dict[str, Any]) -> Verified | None:
    party, challenge = RelyingParty(case["rpId"], case["origin"], "Service"), decode_base64url(case["challenge"])
    try:
        if case["kind"] == "registration":
            return verify_registration(party, case["credential"], challenge)
        known = case["credential"]["id"], case["publicKey"], case["count"], case["synced"]
        return verify_assertion(party, case["credential"], challenge, Passkey("p", "k", *known, "phone", START))
    except ServiceError as error:
        assert error.status in (400, 401)
        return None


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_oracle_says_the_same(case: dict[str, Any]) -> None:
    found, expected = verdict(case), case["verdict"]
    assert (found is None) == (expected is None)
    if found is not None:
        assert (found.sign_count, found.is_synced) == (expected["count"], expected["synced"])
        if case["kind"] == "registration":
            assert (found.credential_id, found.public_key) == (expected["credentialId"], expected["publicKey"])


def test_the_cases_are_of_both_kinds_and_verdicts() -> None:
    assert {(case["kind"], case["verdict"] is None) for case in CASES} == {
        (kind, refused) for kind in ("registration", "assertion") for refused in (False, True)
    }
