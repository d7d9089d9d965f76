"""The payment page's client id and links of a sandbox: found by their tokens, and paid by the page alone."""

import pytest

from chalicelib.base import ids
from tests.fakes.world import START
from tests.support.client import Api, item
from tests.support.running import running
from tests.support.tenants import Headers, Tenant

LINKS = "/v2/secure-payments"


@pytest.fixture
def page() -> Headers:
    settings = running().settings
    return {"x-client-id": settings.page_client_id, "origin": settings.page_origin}


def new_link(api: Api, headers: Headers) -> str:
    made = api.request("POST", LINKS, {"requests": [item()]}, headers)
    assert made.status == 201, made.body
    return str(made.json["token"])


def test_the_token_of_a_link_of_a_sandbox_names_its_account_and_fits_every_operation() -> None:
    token = ids.link_token(START, lambda size: b"\x01" * size, "0" * 26)
    assert ids.sandbox_of(token) == "0" * 26 and len(token) <= 64
    live = ids.link_token(START, lambda size: b"\x01" * size)
    assert ids.sandbox_of(live) is None and token.endswith(f"_{live}")


@pytest.mark.parametrize("token", ["test_", "test__", "test_a_b", "test_a/b_01KKRF0D80CPZXV3PJSZJ7R1Q4", "test_a_01KKRF0D80CPZXV3PJSZJ7R1Q4\n"])
def test_what_only_looks_like_such_a_token_is_in_no_sandbox(token: str) -> None:
    assert ids.sandbox_of(token) is None


def test_the_page_reads_a_link_of_a_sandbox_and_pays_it_once(api: Api, page: Headers) -> None:
    tenant = Tenant()
    key = tenant.by_test_key()
    token = new_link(api, key)
    assert api.get(f"{LINKS}/{token}", page).json["status"] == "pending"
    assert api.get(f"{LINKS}/{token}/pay", page).status == 200
    paid = api.request("POST", f"/v2/test/pay/{token}", None, page)
    assert (paid.status, paid.json["transfersFound"]) == (201, 1), paid.body
    again = api.request("POST", f"/v2/test/pay/{token}", None, page)
    assert (again.status, again.json["message"]) == (409, api.get(f"{LINKS}/{token}", page).json["message"])
    (request,) = api.get("/v2/request", key).json["requests"]
    assert request["status"] == "paid"
    assert api.get("/v2/request", tenant.by_key()).json["requests"] == []


def test_a_link_is_in_the_sandbox_of_its_own_account_alone(api: Api, page: Headers) -> None:
    one, other = Tenant(), Tenant()
    token = new_link(api, one.by_test_key())
    moved = token.replace(one.account_id, other.account_id)
    for path in (f"{LINKS}/{moved}", f"{LINKS}/{moved}/pay", f"{LINKS}/{token[-26:]}"):
        assert api.get(path, page).status == 404, path
    assert api.request("POST", f"/v2/test/pay/{moved}", None, page).status == 404
    for headers in (other.by_test_key(), other.by_key(), other.by_client(), one.by_key(), one.by_client()):
        assert api.get(f"{LINKS}/{token}", headers).status == 404


def test_a_live_link_is_not_paid_with_test_money(api: Api, page: Headers) -> None:
    tenant = Tenant()
    token = new_link(api, tenant.by_key())
    for headers in (page, tenant.by_client()):
        assert api.request("POST", f"/v2/test/pay/{token}", None, headers).status == 403
    assert api.get(f"{LINKS}/{token}", page).json["status"] == "pending"
