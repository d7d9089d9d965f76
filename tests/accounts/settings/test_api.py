"""The settings of an account over HTTP."""

from dataclasses import replace
from datetime import timedelta

import pytest

from chalicelib.platform.access.people.records import Role
from chalicelib.platform.own_accounts.records import Sender
from chalicelib.platform.own_accounts.store import senders
from chalicelib.platform.storage.store import Delete
from chalicelib.relayer.records import RelayerProgress
from tests.support.client import Shop
from tests.support.opened import by_session
from tests.support.running import running


def test_the_name_of_an_account_is_changed_with_an_entry_and_not_by_a_viewer(new_shop: Shop) -> None:
    owner = by_session(new_shop.account_id)
    changed = new_shop.api.request("PUT", "/v1/account", {"name": " Ann's shop "}, owner)
    assert (changed.status, changed.json["name"], changed.json["id"]) == (200, "Ann's shop", new_shop.account_id)
    assert new_shop.api.get("/v1/account", owner).json == {**changed.json, "networksLowOnGas": []}
    again = new_shop.api.request("PUT", "/v1/account", {"name": "Ann's shop"}, owner)
    assert again.json == changed.json
    lines = new_shop.api.get("/v1/audit", owner).json["entries"]
    assert [line["action"] for line in lines].count("account.updated") == 1


@pytest.mark.parametrize("name", ["", "  ", "x" * 101, 1, None, ["x"]])
def test_what_is_no_name_is_400(new_shop: Shop, name: object) -> None:
    assert new_shop.api.request("PUT", "/v1/account", {"name": name}, by_session(new_shop.account_id)).status == 400


def test_only_who_changes_it_due_where_the_service_has_too_little_for_gas(new_shop: Shop) -> None:
    """By the last checks of the service's accounts: one that was replaced is checked no more."""
    sessions = {role: by_session(Shop(new_shop.api).account_id, role=role) for role in Role}
    services, addresses = running(), [f"0x{number:040x}" for number in range(3)]
    now, known = services.clock(), senders(services.store)
    senders_now = services.store.write(replace(known, accounts=tuple(Sender("sepolia", each) for each in addresses)))
    checks = zip(addresses, ((now, False), (now - timedelta(hours=2), True), (now, True)), strict=True)
    for address, (checked_at, is_low) in checks:
        low = services.store.write(RelayerProgress("sepolia", address, 0, checked_at, has_low_balance=is_low))
        for role, session in sessions.items():
            shown = new_shop.api.get("/v1/account", session).json["networksLowOnGas"]
            due = ["sepolia"] if (checked_at, is_low) == (now, True) else []
            assert shown == (due if role in (Role.OWNER, Role.ADMIN) else None), role
    services.store.write(Delete(low), replace(senders_now, accounts=()))


def test_only_owners_and_admins_change_it(new_shop: Shop) -> None:
    for role in Role:
        other = Shop(new_shop.api)
        sent = by_session(other.account_id, role=role)
        status = new_shop.api.request("PUT", "/v1/account", {"name": "x"}, sent).status
        assert status == (200 if role in (Role.OWNER, Role.ADMIN) else 403)
