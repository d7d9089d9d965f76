"""Payouts that compliance refuses: by the operator, or because the provider has refused the person that they name."""

from dataclasses import replace
from typing import Any

import pytest

from chalicelib.base.errors import ServiceError
from chalicelib.offramp.payers.records import KycStatus, Payer
from chalicelib.payments.links import store as link_store
from infra.admin import refuse_payout
from tests.fakes.offramps import store_payer
from tests.support.client import Reply, Shop
from tests.support.items import payout
from tests.support.running import running

LINKS = "/v2/secure-payments"
PERSON = "ann@shop.example"


def made(shop: Shop, person: str | None = PERSON) -> str:
    return made_with({**shop.by_key, **shop.by_client}, shop, person)


def made_with(headers: dict[str, str], shop: Shop, person: str | None) -> str:
    reply = shop.api.request("POST", f"{LINKS}/payouts", payout(recipientIdentifier=person), headers)
    assert reply.status == 201, reply.json
    token: str = reply.json["token"]
    return token


def combined(shop: Shop, *tokens: str) -> Reply:
    both = {**shop.by_key, **shop.by_client}
    return shop.api.request("POST", f"{LINKS}/multicall-payouts", {"childTokens": list(tokens)}, both)


def closed(reply: Reply) -> tuple[int, Any]:
    return reply.status, reply.json.get("status")


def assert_refused(shop: Shop, token: str) -> None:
    assert closed(shop.get(f"{LINKS}/{token}")) == (403, "compliance_failed")
    assert closed(shop.get(f"{LINKS}/{token}/pay")) == (403, "compliance_failed")
    (request,) = link_store.links_with_first_request(running().store, [token])[token].requests
    by_request = shop.get(f"/v2/request/{request.request_id}/pay?wallet={request.payer}")
    assert closed(by_request) == (403, "compliance_failed"), "the same payout, by its request"
    found = shop.api.get(f"{LINKS}?requestId={request.request_id}", shop.by_key).json
    assert (found["status"], found["childExecutable"], found["blockReason"]) == (
        "compliance_failed", False, "compliance_failed"
    )  # fmt: skip
    (failure,) = combined(shop, made(shop, None), token).json["failures"]
    assert [failure[name] for name in ("securePaymentToken", "reason", "recoveryAction")] == [
        token, "compliance_failed", "remove_child"
    ]  # fmt: skip


def stored_payer(shop: Shop, person: str, kyc: KycStatus, account_id: str | None = None) -> Payer:
    return store_payer(running(), account_id or shop.account_id, person, kyc_status=kyc)


def test_what_the_operator_refuses_is_not_paid(shop: Shop) -> None:
    token = made(shop)
    assert shop.get(f"{LINKS}/{token}/pay").status == 200
    refuse_payout(running(), token)
    assert_refused(shop, token)


@pytest.mark.parametrize("kyc", [KycStatus.REJECTED, KycStatus.FAILED])
def test_what_is_for_a_person_whom_the_provider_refuses_is_not_paid_until_it_takes_that_back(
    shop: Shop, kyc: KycStatus
) -> None:
    token, other = made(shop, f"{kyc}@shop.example"), made(shop, "somebody else")
    payer = stored_payer(shop, f"{kyc}@shop.example", kyc)
    assert_refused(shop, token)
    assert shop.get(f"{LINKS}/{other}/pay").status == 200
    running().store.write(replace(payer, kyc_status=KycStatus.APPROVED, version=1))
    assert shop.get(f"{LINKS}/{token}/pay").status == 200


def test_a_child_that_is_refused_later_blocks_its_multicall(shop: Shop) -> None:
    token, other = made(shop, "refused as a child"), made(shop, None)
    whole = combined(shop, token, other).json["token"]
    assert shop.get(f"{LINKS}/{whole}/pay").status == 200
    stored_payer(shop, "refused as a child", KycStatus.REJECTED)
    shown = shop.get(f"{LINKS}/{whole}").json
    assert [each["blockReason"] for each in shown["children"]] == ["compliance_failed", None]
    (failure,) = shop.get(f"{LINKS}/{whole}/pay").json["failures"]
    assert failure["reason"] == "compliance_failed"


def test_a_batch_of_payouts_is_refused_with_any_of_them(shop: Shop) -> None:
    tokens = [made(shop, None), made(shop, "later refused")]
    by_key = {**shop.by_key, **shop.by_client}
    both = shop.api.request("POST", f"{LINKS}/batch-payouts", {"tokens": tokens}, by_key).json["token"]
    assert shop.get(f"{LINKS}/{both}/pay").status == 200
    stored_payer(shop, "later refused", KycStatus.REJECTED)
    assert closed(shop.get(f"{LINKS}/{both}/pay")) == (403, "compliance_failed")


def test_a_person_of_another_account_or_whose_check_goes_on_refuses_nothing(shop: Shop) -> None:
    token, pending = made(shop, "foreign"), made(shop, "pending")
    stored_payer(shop, "foreign", KycStatus.REJECTED, "another")
    stored_payer(shop, "pending", KycStatus.RETRY_REQUIRED)
    assert [shop.get(f"{LINKS}/{each}/pay").status for each in (token, pending)] == [200, 200]


def test_nobody_learns_by_payouts_of_a_client_id_alone_whom_the_provider_refuses(shop: Shop) -> None:
    """A client id is public: else a stranger would ask about any person by a payout to that name."""
    stored_payer(shop, "secretly refused", KycStatus.REJECTED)
    asking, unknown = (made_with(shop.by_client, shop, each) for each in ("secretly refused", "nobody"))
    assert [shop.get(f"{LINKS}/{each}{path}").status for each in (asking, unknown) for path in ("", "/pay")] == [200] * 4
    assert combined(shop, asking, unknown).status == 201
    assert closed(shop.get(f"{LINKS}/{made(shop, 'secretly refused')}")) == (403, "compliance_failed")


def test_only_a_pending_payout_is_refused(shop: Shop) -> None:
    whole = combined(shop, made(shop, None), made(shop, None)).json["token"]
    for token, hint in ((shop.link(), "this is get_paid"), ("unknown", "not found"), (whole, "refuse its payouts")):
        with pytest.raises(ServiceError, match=hint):
            refuse_payout(running(), token)
