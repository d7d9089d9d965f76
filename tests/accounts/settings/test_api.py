"""The settings of an account over HTTP."""

import pytest

from chalicelib.platform.access.people.records import Role
from tests.support.client import Shop
from tests.support.opened import by_session


def test_the_name_of_an_account_is_changed_with_an_entry_and_not_by_a_viewer(new_shop: Shop) -> None:
    owner = by_session(new_shop.account_id)
    changed = new_shop.api.request("PUT", "/v1/account", {"name": " Ann's shop "}, owner)
    assert (changed.status, changed.json["name"], changed.json["id"]) == (200, "Ann's shop", new_shop.account_id)
    assert new_shop.api.get("/v1/account", owner).json == changed.json
    again = new_shop.api.request("PUT", "/v1/account", {"name": "Ann's shop"}, owner)
    assert again.json == changed.json
    lines = new_shop.api.get("/v1/audit", owner).json["entries"]
    assert [line["action"] for line in lines].count("account.updated") == 1


@pytest.mark.parametrize("name", ["", "  ", "x" * 101, 1, None, ["x"]])
def test_what_is_no_name_is_400(new_shop: Shop, name: object) -> None:
    assert new_shop.api.request("PUT", "/v1/account", {"name": name}, by_session(new_shop.account_id)).status == 400


def test_only_owners_and_admins_change_it(new_shop: Shop) -> None:
    for role in Role:
        other = Shop(new_shop.api)
        sent = by_session(other.account_id, role=role)
        status = new_shop.api.request("PUT", "/v1/account", {"name": "x"}, sent).status
        assert status == (200 if role in (Role.OWNER, Role.ADMIN) else 403)
