"""Who reads how far the checks of a payer are, over HTTP."""

from dataclasses import replace

import pytest

from chalicelib.offramp.payers.records import Payer
from chalicelib.platform.access.credentials.records import ClientId
from chalicelib.platform.access.credentials.rules import credential_hash
from tests.support.client import Api
from tests.support.running import running
from tests.support.tenants import Tenant


@pytest.fixture
def tenant(api: Api) -> Tenant:
    return Tenant()


def let_read(tenant: Tenant, may_read: bool) -> None:
    store, key = running().store, ClientId.KEY.of(credential_hash=credential_hash(tenant.client_id))
    found = store.get(ClientId, key)
    assert found is not None
    store.write(replace(found, may_read_payers=may_read))


def path_of(tenant: Tenant) -> str:
    return f"/v2/payer/{tenant.payer().replace('@', '%40')}"


def test_a_client_id_alone_reads_the_checks_of_a_payer_if_its_owner_allows_it(api: Api, tenant: Tenant) -> None:
    path = path_of(tenant)
    let_read(tenant, False)
    reply = api.request("GET", path, None, tenant.by_client())
    assert reply.status == 403 and "mayReadPayers of PUT /v2/client-ids/{id}" in str(reply.message)
    assert "x-api-key" in str(reply.message)
    let_read(tenant, True)
    reply = api.request("GET", path, None, tenant.by_client())
    assert reply.status == 200 and set(reply.json) == {"kycStatus", "agreementStatus", "isCompliant", "userId"}
    assert reply.json == api.request("GET", path, None, tenant.by_key()).json


def test_it_reads_no_personal_data_and_changes_nothing(api: Api, tenant: Tenant) -> None:
    path = path_of(tenant)
    reply = api.request("GET", f"{path}?export=true", None, tenant.by_client())
    assert reply.status == 403 and "an export has all personal data" in str(reply.message)
    for method, rest in (("PATCH", ""), ("DELETE", ""), ("GET", "/payment-details"), ("POST", "/payment-details")):
        assert api.request(method, path + rest, {}, tenant.by_client()).status == 403


def test_it_reads_no_payer_of_another_client_id_nor_of_another_account(api: Api, tenant: Tenant) -> None:
    path = path_of(tenant)
    (payer,) = [each for each, _ in running().store.scan([Payer]) if each.account_id == tenant.account_id]  # type: ignore[attr-defined]
    running().store.write(replace(payer, client_id="cli_other"))  # type: ignore[call-arg]
    assert api.request("GET", path, None, tenant.by_client()).status == 404
    assert api.request("GET", path, None, {**tenant.by_key(), "x-client-id": tenant.client_id}).status == 200
    assert api.request("GET", path, None, Tenant().by_client()).status == 404
