"""PATCH /v2/secure-payments/{token}: its owner changes when a link expires, as long as it is open."""

import pytest

from tests.support.client import Reply, Shop, item
from tests.support.items import refused
from tests.support.stored_links import complete, pass_expiry

LATER = "2101-02-03T04:05:06Z"


def update(shop: Shop, token: str, expires_at: object = LATER) -> Reply:
    return shop.api.request("PATCH", f"/v2/secure-payments/{token}", {"expiresAt": expires_at}, shop.by_key)


def link_of(shop: Shop) -> str:
    token: str = shop.api.request("POST", "/v2/secure-payments", {"requests": [item()]}, shop.by_key).json["token"]
    return token


def test_the_expiry_is_changed_and_shown(shop: Shop) -> None:
    token = link_of(shop)
    for _ in range(2):
        reply = update(shop, token)
        assert (reply.status, reply.json) == (200, {"token": token, "expiresAt": "2101-02-03T04:05:06.000Z"})
    shown = shop.api.request("GET", f"/v2/secure-payments/{token}", None, shop.by_key)
    assert (shown.status, shown.json["expiresAt"]) == (200, "2101-02-03T04:05:06.000Z")
    entries = shop.api.request("GET", "/v1/audit", None, shop.by_key).json["entries"]
    assert [each["action"] for each in entries if each["target"] == token] == ["secure_payment.updated"]


@pytest.mark.parametrize("wrong", ["2020-01-01T00:00:00Z", "2101-02-30T00:00:00Z", "tomorrow", None, 7])
def test_what_is_no_time_of_the_future_is_refused(shop: Shop, wrong: object) -> None:
    refused(update(shop, link_of(shop), wrong), "expiresAt")


def test_what_has_ended_or_is_anothers_is_refused(shop: Shop, new_shop: Shop) -> None:
    paid, past, own = link_of(shop), link_of(shop), link_of(shop)
    complete(paid)
    pass_expiry(past)
    for token, status in ((paid, "completed"), (past, "awaiting_chain")):
        reply = update(shop, token)
        assert (reply.status, reply.message) == (
            409, f"Only the expiry of a pending link can be changed: this one is {status}",
        )
    theirs = shop.api.request("PATCH", f"/v2/secure-payments/{own}", {"expiresAt": LATER}, new_shop.by_key)
    assert theirs.status == 404
    assert shop.api.request("PATCH", f"/v2/secure-payments/{own}", {"expiresAt": LATER}, shop.by_client).status in (401, 403)
