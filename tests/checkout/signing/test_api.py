"""POST and DELETE /v2/secure-payments/{token}/signing: one browser at a time is asked for a batch of calls."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.payments.links.records import SigningClaim
from tests.support.browser import BY_PAGE
from tests.support.client import Reply, Shop
from tests.support.commerce import commerce_payment
from tests.support.items import BATCH, PAYOUTS, payout, tron
from tests.support.running import running
from tests.support.stored_links import complete, expire, pass_expiry

MULTICALL = "/v2/secure-payments/multicall-payouts"
MINE, THEIRS, CALLS = "5e" * 32, "6f" * 32, "0x" + "ab" * 32
WALLET = "0x627306090abaB3A6e1400e9345bC60c78a8BEf57"


def claim(shop: Shop, token: str, secret: str = MINE, **changes: Any) -> Reply:
    body = {"calls": CALLS, "announcerSecret": secret, **changes}
    return shop.api.request("POST", f"/v2/secure-payments/{token}/signing", body, BY_PAGE)


def end(shop: Shop, token: str, secret: str) -> Reply:
    return shop.api.request("DELETE", f"/v2/secure-payments/{token}/signing", None, {**BY_PAGE, "x-announcer-secret": secret})


def reads(shop: Shop, token: str, secret: str | None = None, path: str = "") -> Reply:
    headers = {**BY_PAGE, **({"x-announcer-secret": secret} if secret else {})}
    return shop.api.request("GET", f"/v2/secure-payments/{token}{path}", None, headers)


def multicall(shop: Shop) -> tuple[str, list[str]]:
    """A multicall of two payouts, and these."""
    tokens = [shop.send("POST", PAYOUTS, payout()).json["token"] for _ in range(2)]
    created = shop.send("POST", MULTICALL, {"childTokens": tokens})
    assert created.status == 201, created.json
    return created.json["token"], tokens


def test_who_has_claimed_it_sees_the_link_and_nobody_else_does(shop: Shop) -> None:
    token = shop.link()
    claimed = claim(shop, token)
    assert (claimed.status, claimed.json["attempt"]) == (200, 1)
    assert len(claimed.json["callsId"]) == 66
    for path in ("", f"/pay?wallet={WALLET}"):
        assert reads(shop, token, MINE, path).status == 200
        for secret in (THEIRS, None):
            refused = reads(shop, token, secret, path)
            assert (refused.status, refused.json["code"]) == (423, "being_signed")
            assert refused.json["signingEndsAt"] == claimed.json["signingEndsAt"]
    assert shop.get(f"/v2/secure-payments/{token}").status == 423


def test_another_browser_is_refused_until_it_is_given_back(shop: Shop) -> None:
    token = shop.link()
    first = claim(shop, token).json
    assert claim(shop, token).json == first
    assert claim(shop, token, THEIRS).status == 423
    assert end(shop, token, THEIRS).json == {"isEnded": False}
    assert end(shop, token, MINE).json == {"isEnded": True}
    theirs = claim(shop, token, THEIRS)
    assert (theirs.status, theirs.json["attempt"], theirs.json["callsId"] != first["callsId"]) == (200, 2, True)
    assert reads(shop, token, MINE).status == 423


@pytest.mark.parametrize("kind", ["tron", "commerce"])
def test_on_tron_and_for_an_escrow_it_holds_for_other_devices_too(shop: Shop, kind: str) -> None:
    token = shop.link(tron()) if kind == "tron" else commerce_payment(shop.account_id).payable_id
    assert claim(shop, token).status == 200
    assert claim(shop, token, THEIRS).status == 423
    for path in ("", "/pay" if kind == "tron" else f"/pay?wallet={WALLET}"):
        assert reads(shop, token, THEIRS, path).json["code"] == "being_signed"
        assert reads(shop, token, MINE, path).status == 200
    assert end(shop, token, MINE).json == {"isEnded": True}
    assert claim(shop, token, THEIRS).status == 200


def test_a_secret_is_not_stored(shop: Shop) -> None:
    token = shop.link()
    claim(shop, token)
    stored = running().store.get(SigningClaim, SigningClaim.KEY.of(link_token=token))
    assert stored is not None and MINE not in repr(stored)


def test_after_a_quarter_of_an_hour_of_claims_a_link_is_paid_without(shop: Shop) -> None:
    token = shop.link()
    claim(shop, token)
    key = SigningClaim.KEY.of(link_token=token)
    stored = running().store.get(SigningClaim, key)
    assert stored is not None
    now = running().clock()
    running().store.write(replace(stored, ends_at=now - timedelta(seconds=1), claimed_at=now - timedelta(minutes=11)))
    refused = claim(shop, token, THEIRS)
    assert (refused.status, "status" in refused.json) == (409, False)
    assert reads(shop, token).status == 200


def test_a_link_that_is_paid_has_nothing_to_claim(shop: Shop) -> None:
    token = shop.link()
    complete(token)
    refused = claim(shop, token)
    assert (refused.status, refused.json["status"]) == (409, "completed")


def test_a_link_that_ends_while_it_is_claimed_says_how_it_ended(shop: Shop) -> None:
    cancelled, expired, late = shop.link(), shop.link(), shop.link()
    for token in (cancelled, expired, late):
        assert claim(shop, token).status == 200
    assert shop.api.request("POST", f"/v2/secure-payments/{cancelled}/cancel", None, shop.by_key).status == 200
    expire(expired)
    pass_expiry(late)
    ends = {cancelled: "cancelled", expired: "expired"}
    assert {token: reads(shop, token).json["status"] for token in ends} == ends
    assert reads(shop, late).json["code"] == "awaiting_chain"
    assert {reads(shop, token).status for token in (*ends, late)} == {403}


def test_payouts_that_are_being_signed_are_not_merged_before_that_is_over(shop: Shop) -> None:
    tokens = [shop.send("POST", PAYOUTS, payout()).json["token"] for _ in range(2)]
    claim(shop, tokens[0])
    for path, body in ((BATCH, {"tokens": tokens}), (MULTICALL, {"childTokens": tokens})):
        refused = shop.send("POST", path, body)
        assert refused.status == 400 and "request_processing" in str(refused.json)
    end(shop, tokens[0], MINE)
    assert shop.send("POST", BATCH, {"tokens": tokens}).status == 201


def test_the_claim_of_a_multicall_holds_its_payouts(shop: Shop) -> None:
    parent, tokens = multicall(shop)
    assert claim(shop, parent).status == 200
    for path in ("", f"/pay?wallet={WALLET}"):
        assert reads(shop, tokens[0], THEIRS, path).json["code"] == "being_signed"
        assert reads(shop, parent, MINE, path).status == 200, "whose payouts are not blocked by its own claim"
    for secret in (THEIRS, MINE):
        assert claim(shop, tokens[0], secret).status == 423
        assert end(shop, tokens[0], secret).json == {"isEnded": False}
    assert end(shop, parent, MINE).json == {"isEnded": True}
    assert claim(shop, tokens[0], THEIRS).status == 200


def test_the_claim_of_a_payout_holds_its_multicall(shop: Shop) -> None:
    parent, tokens = multicall(shop)
    assert claim(shop, tokens[1]).status == 200
    assert claim(shop, parent, THEIRS).status == 423
    [failure] = reads(shop, parent, THEIRS, f"/pay?wallet={WALLET}").json["failures"]
    assert failure["reason"] == "request_processing"
    assert claim(shop, tokens[0], THEIRS).status == 200, "another payout is nobody's yet"
    assert {end(shop, tokens[1], MINE).json["isEnded"], end(shop, tokens[0], THEIRS).json["isEnded"]} == {True}
    assert claim(shop, parent, THEIRS).status == 200


def test_what_is_no_claim_is_refused(shop: Shop) -> None:
    token = shop.link()
    assert claim(shop, token, "5e").status == 400
    assert claim(shop, token, calls="0x12").status == 400
    assert claim(shop, "01KJM9CZ2YTTTTTTTTTTTTTTTT").status == 404


def test_the_transactions_come_as_one_batch_of_calls(shop: Shop) -> None:
    body = reads(shop, shop.link(), None, f"/pay?wallet={WALLET}").json
    calls = body["metadata"]["calls"]
    assert {**calls, "calls": None} == {
        "version": "2.0.0", "chainId": "0xaa36a7", "from": WALLET, "atomicRequired": True, "calls": None
    }  # fmt: skip
    made = [{"to": each["to"], "data": each["data"], "value": hex(each["value"])} for each in body["transactions"]]
    assert calls["calls"] == made and len(made) == 2
