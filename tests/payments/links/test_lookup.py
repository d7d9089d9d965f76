"""GET /v2/secure-payments?requestId=: the link that a request is paid through, for its owner's dashboard."""

from typing import Any

import pytest

from chalicelib.payments.links import reading
from tests.fakes.payouts import on_its_way
from tests.fakes.wallets import evm_wallet
from tests.support.client import Api, Reply, Shop, item
from tests.support.items import BATCH, DESTINATION, FEE, PAYOUTS, native, payout
from tests.support.running import running
from tests.support.signed_in import Dashboard, by_wallet
from tests.support.stored_links import complete, expire, pass_expiry

NOT_FOUND = "No secure payment found for this request ID"
WALLET = evm_wallet("lookup").address


@pytest.fixture
def dashboard(api: Api, shop: Shop) -> Dashboard:
    return by_wallet(api, evm_wallet("lookup"))


def create(dashboard: Dashboard, *items: dict[str, Any], **fields: Any) -> Any:
    reply = dashboard.send("POST", "/v2/secure-payments", {"requests": list(items) or [item()], **fields})
    assert reply.status == 201, reply.json
    return reply.json


def look_up(dashboard: Dashboard, request_id: str) -> Reply:
    return dashboard.get(f"/v2/secure-payments?requestId={request_id}")


def test_its_owner_reads_a_link_while_a_transaction_is_pending_for_it(dashboard: Dashboard) -> None:
    made = create(dashboard)
    payment = reading.load(running(), made["token"])
    assert payment is not None
    running().store.write(on_its_way(payment).announcements)
    found = look_up(dashboard, made["requestIds"][0])
    assert (found.status, found.json["status"], found.json["childExecutable"]) == (200, "pending", False)
    complete(made["token"])
    found = look_up(dashboard, made["requestIds"][0])
    assert (found.status, found.json["status"]) == (200, "completed")


def test_a_request_leads_to_all_that_is_known_of_its_link(dashboard: Dashboard) -> None:
    made = create(dashboard, redirectUrl="https://shop.example", **FEE)
    found = look_up(dashboard, made["requestIds"][0]).json
    assert found.pop("createdAt") < found.pop("expiresAt")
    assert found["destination"].pop("destinationId") == DESTINATION
    assert set(found.pop("destination")) == {"payeeAddress", "tokenAddress", "walletAddress", "network"}
    assert found == {
        "token": made["token"],
        "securePaymentUrl": made["securePaymentUrl"],
        "status": "pending",
        "paymentType": "single",
        "redirectUrl": "https://shop.example",
        "redirectLabel": "Go Back and Close",
        "completedAt": None,
        "payerAddress": None,
        "payerKytResults": [],
        "payeeKytResults": [],
        "claimedDestination": None,
        "orchestratorId": None,
        "feePlan": made["feePlan"],
        "network": "sepolia",
        "currency": "fUSDC-sepolia",
        "executionKind": None,
        "identityMode": "manual_dashboard",
        "clientId": None,
        "branding": {"whitelabelEnabled": False, "source": "service"},
        "childExecutable": False,
        "blockReason": "not_outgoing",
    }


def test_every_request_of_a_batch_leads_to_it(dashboard: Dashboard) -> None:
    made = create(dashboard, item(), native())
    for request_id in made["requestIds"]:
        found = look_up(dashboard, request_id).json
        assert (found["token"], found["paymentType"]) == (made["token"], "batch")
        assert (found["destination"], found["currency"], found["feePlan"]) == (None, None, None)


def test_a_payout_can_be_a_child_until_it_is_merged_and_its_request_then_leads_to_the_batch(
    dashboard: Dashboard,
) -> None:
    made = [dashboard.send("POST", PAYOUTS, payout(creatorWalletAddress=WALLET)).json for _ in range(2)]
    found = look_up(dashboard, made[0]["requestIds"][0]).json
    assert (found["childExecutable"], found["blockReason"]) == (True, None)
    batch = dashboard.send("POST", BATCH, {"tokens": [each["token"] for each in made]}).json
    for each in made:
        found = look_up(dashboard, each["requestIds"][0]).json
        assert (found["token"], found["blockReason"]) == (batch["token"], "not_single_payment")


def test_it_is_answered_whatever_became_of_the_link(dashboard: Dashboard) -> None:
    late, waiting, paid = create(dashboard), create(dashboard), create(dashboard)
    expire(late["token"])
    pass_expiry(waiting["token"])
    complete(paid["token"])
    assert look_up(dashboard, late["requestIds"][0]).json["status"] == "expired"
    found = look_up(dashboard, waiting["requestIds"][0]).json
    assert (found["status"], found["childExecutable"]) == ("pending", False)
    assert look_up(dashboard, paid["requestIds"][0]).json["status"] == "completed"


@pytest.mark.parametrize("request_id", ["", "x", "01" + "0" * 64, "x" * 5000, "%F0%9F%92%B8", "..%2F"])
def test_an_unknown_request_is_404_in_the_documented_words(dashboard: Dashboard, request_id: str) -> None:
    reply = look_up(dashboard, request_id)
    assert (reply.status, reply.message) == (404, NOT_FOUND)


def test_a_request_with_the_character_zero_is_400(dashboard: Dashboard) -> None:
    reply = look_up(dashboard, "%00")
    assert reply.status == 400 and reply.message.startswith("requestId")


def test_anothers_request_is_as_unknown_as_one_that_never_was(dashboard: Dashboard, shop: Shop) -> None:
    reply = look_up(dashboard, shop.create().json["requestIds"][0])
    assert (reply.status, reply.message) == (404, NOT_FOUND)


def test_the_request_is_named_once(dashboard: Dashboard) -> None:
    assert dashboard.get("/v2/secure-payments?requestId=a&requestId=b").status == 400
