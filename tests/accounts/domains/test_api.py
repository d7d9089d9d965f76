"""The domain of a client id over HTTP, and what its links show of it."""

from dataclasses import replace
from typing import Any

import pytest

from chalicelib.accounts.domains import store
from chalicelib.platform.access.credentials.rules import credential_hash
from tests.fakes.payouts import store_payouts
from tests.support.browser import BY_PAGE
from tests.support.client import Reply, Shop, item
from tests.support.opened import by_session
from tests.support.running import running


def path_of(shop: Shop, host: str = "/v2") -> str:
    (client,) = shop.api.get("/v2/client-ids", shop.by_key).json
    return f"{host}/client-ids/{client['id']}"


def put(shop: Shop, domain: Any = "shop.example") -> Reply:
    return shop.api.request("PUT", f"{path_of(shop)}/domain", {"domain": domain}, shop.by_key)


def verify(shop: Shop) -> None:
    made = put(shop).json
    texts: dict[str, tuple[str, ...]] = running().txt_records.texts  # type: ignore[attr-defined]
    texts[made["record"]["name"]] = (made["record"]["value"],)
    checked = shop.api.request("POST", f"{path_of(shop)}/domain/check", None, shop.by_key)
    assert checked.json["status"] == "verified"


def merchant(shop: Shop, token: str) -> Any:
    return shop.api.get(f"/v2/secure-payments/{token}", BY_PAGE).json["merchant"]


def by_key_for(shop: Shop) -> str:
    """A link of the client id that the account's server has made."""
    sent = {**shop.by_key, "x-client-id": shop.client_id}
    return str(shop.api.request("POST", "/v2/secure-payments", {"requests": [item()]}, sent).json["token"])


def test_it_is_set_read_checked_and_removed_with_a_key_and_in_a_session(new_shop: Shop) -> None:
    for host, sent in (("/v2", new_shop.by_key), ("/v1", by_session(new_shop.account_id))):
        path = f"{path_of(new_shop, host)}/domain"
        assert new_shop.api.get(path, sent).status == 404
        made = new_shop.api.request("PUT", path, {"domain": "Shop.example"}, sent)
        assert (made.status, made.json["domain"], made.json["status"]) == (200, "shop.example", "unverified")
        assert made.json["record"]["value"] == made.json["file"]["content"]
        assert new_shop.api.get(path, sent).json == made.json
        assert new_shop.api.request("POST", f"{path}/check", None, sent).json["record"] == made.json["record"]
        assert new_shop.api.request("DELETE", path, None, sent).json == {"removed": True}


@pytest.mark.parametrize("domain", ["", "shop", "https://shop.example", "a" * 255 + ".example", "shop.exa\u202emple", None, 1])
def test_what_is_no_domain_is_400(new_shop: Shop, domain: object) -> None:
    assert put(new_shop, domain).status == 400
    assert new_shop.api.get(f"{path_of(new_shop)}/domain", new_shop.by_key).status == 404


def test_a_link_names_nobody_until_the_owner_sets_a_domain(new_shop: Shop) -> None:
    token = by_key_for(new_shop)
    assert merchant(new_shop, token) is None
    put(new_shop)
    assert merchant(new_shop, token) == {"domain": None, "label": "web"}


def test_a_link_whose_payees_the_owner_knows_shows_the_verified_domain(new_shop: Shop) -> None:
    verify(new_shop)
    assert merchant(new_shop, by_key_for(new_shop)) == {"domain": "shop.example", "label": "web"}


def test_a_link_that_the_public_client_id_alone_has_made_shows_none_unless_its_payees_are_limited(new_shop: Shop) -> None:
    verify(new_shop)
    assert merchant(new_shop, new_shop.link()) == {"domain": None, "label": "web"}
    limits = {"allowedPayees": [item()["payee"]]}
    assert new_shop.api.request("PUT", path_of(new_shop), limits, new_shop.by_key).status == 200
    assert merchant(new_shop, new_shop.link()) == {"domain": "shop.example", "label": "web"}


def test_a_payout_names_nobody_as_the_client_id_is_its_payers(new_shop: Shop) -> None:
    verify(new_shop)
    (payout,) = store_payouts(running(), new_shop.account_id, 1, client_id=new_shop.client_id, has_known_payees=True)
    assert merchant(new_shop, payout.link.token) is None


def test_a_domain_that_was_not_found_for_three_days_is_no_longer_shown(new_shop: Shop) -> None:
    verify(new_shop)
    token = by_key_for(new_shop)
    found = store.find_domain(running().store, credential_hash(new_shop.client_id))
    assert found is not None and found.verified_at is not None and found.verified_until is not None
    aged = found.verified_at - (found.verified_until - found.verified_at)
    running().store.write(replace(found, verified_at=aged))
    assert merchant(new_shop, token) == {"domain": None, "label": "web"}
    assert new_shop.api.get(f"{path_of(new_shop)}/domain", new_shop.by_key).json["status"] == "unverified"


def test_a_hostile_label_is_cleaned_and_a_long_one_refused(new_shop: Shop) -> None:
    token = by_key_for(new_shop)
    put(new_shop)
    for label, shown in (("\u202e\u2713 coinbase.com\u2066", "coinbase. com"), ("w" * 100, "w" * 39 + "\u2026")):
        assert new_shop.api.request("PUT", path_of(new_shop), {"label": label}, new_shop.by_key).status == 200
        assert merchant(new_shop, token)["label"] == shown
    assert new_shop.api.request("PUT", path_of(new_shop), {"label": "w" * 255}, new_shop.by_key).status == 400
