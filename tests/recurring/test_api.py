"""Recurring payouts over HTTP: their published answers, and what is refused, in which words, with nothing written."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.chains.calldata.recurring import SchedulePermit, typed_data
from chalicelib.payments.requests.calendar import MAX_PERIODS
from chalicelib.recurring import store
from chalicelib.recurring.creation import LARGEST_PAYMENT
from chalicelib.recurring.records import RecurringPayment, RecurringStatus
from tests.checkout.test_pay import approval
from tests.commerce.service.test_api import executing_alone
from tests.fakes.recurring import SUBSCRIBER, signature_of, store_recurring
from tests.fakes.wallets import evm_wallet, high_s
from tests.fakes.world import FEE_ADDRESS, PAYEE
from tests.payments.links.test_limited import limit
from tests.payments.links.test_limited import refused as refused_by_limit
from tests.support.api import Configured
from tests.support.client import Reply, Shop, item, stored
from tests.support.items import ZERO, native, tron
from tests.support.node import Node
from tests.support.running import running

RECURRENCE = {"startDate": "2030-01-31", "frequency": "MONTHLY", "totalPayments": 12, "payer": SUBSCRIBER.address}
PROXY = "0xb6C7448458d8616B00eb8f93883d0081Fa2aDec9"
"""On sepolia (onchain facts)."""


def send(shop: Shop, recurrence: dict[str, Any] | None = None, **changes: Any) -> Reply:
    plan = {name: value for name, value in {**RECURRENCE, **(recurrence or {})}.items() if value is not None}
    return shop.send("POST", "/v2/payouts", item(recurrence=plan, **changes))


def made(shop: Shop, recurrence: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    reply = send(shop, recurrence, **changes)
    assert reply.status == 201, reply.json
    answer: dict[str, Any] = reply.json
    return answer


def activate(shop: Shop, name: str, signature: str) -> Reply:
    return shop.send("POST", f"/v2/payouts/recurring/{name}", {"permitSignature": signature})


def change(shop: Shop, name: str, action: str) -> Reply:
    return shop.send("PATCH", f"/v2/payouts/recurring/{name}", {"action": action})


def loaded(name: str) -> RecurringPayment:
    found = store.recurring(running().store, name)
    assert found is not None
    return found


def save(schedule: RecurringPayment, **changes: Any) -> None:
    running().store.write(replace(schedule, **changes))


def active(shop: Shop) -> str:
    created = made(shop)
    assert activate(shop, created["id"], SUBSCRIBER.sign_typed(created["recurringPaymentPermit"])).status == 201
    return str(created["id"])


def test_all_of_an_account_are_listed_by_cursor_the_newest_first_and_nobody_elses(new_shop: Shop) -> None:
    stranger, names = Shop(new_shop.api), [active(new_shop), str(made(new_shop)["id"]), str(made(new_shop)["id"])]
    active(stranger)
    change(new_shop, names[0], "cancel")
    old = loaded(names[1])
    save(old, created_at=old.created_at - timedelta(days=31))
    first = new_shop.api.get("/v2/payouts/recurring?limit=1", new_shop.by_key).json
    (newest,) = first["recurringPayouts"]
    assert (newest["id"], newest["status"], newest["payer"], newest["payee"]) == (names[2], "pending", SUBSCRIBER.address, PAYEE)
    assert (newest["amount"], newest["currency"], newest["frequency"]) == ("12.5", "fUSDC-sepolia", "MONTHLY")
    assert (newest["processedPayments"], newest["totalPayments"], newest["nextPaymentDate"][:10]) == (0, 12, "2030-01-31")
    rest = new_shop.api.get(f"/v2/payouts/recurring?cursor={first['nextCursor']}", new_shop.by_key).json
    assert [(each["id"], each["status"], each["nextPaymentDate"]) for each in rest["recurringPayouts"]] == [(names[0], "cancelled", None)]
    assert rest["nextCursor"] is None, "one that nobody has signed for 30 days is over"
    assert new_shop.api.get("/v2/payouts/recurring", new_shop.by_client).status == 403


def test_creating_answers_with_the_permit_and_the_approval(new_shop: Shop, node: Node) -> None:
    node.allowance = 0
    body = made(new_shop, feePercentage="1", feeAddress=FEE_ADDRESS)
    assert list(body) == ["id", "transactions", "recurringPaymentPermit", "metadata"]
    (grant,) = body["transactions"]
    assert list(grant) == ["to", "data", "value"] and grant["value"] == "0x0"
    permit = body["recurringPaymentPermit"]
    assert list(permit) == ["domain", "types", "values"]
    chain = {"chainId": 11155111, "verifyingContract": PROXY}
    assert permit["domain"] == {"name": "ERC20RecurringPaymentProxy", "version": "1", **chain}
    values = permit["values"]
    assert [each["name"] for each in permit["types"]["SchedulePermit"]] == list(values) and len(values) == 13
    assert values["subscriber"] == SUBSCRIBER.address and values["recipient"] == PAYEE
    assert (values["amount"], values["feeAmount"], values["relayerFee"]) == ("12500000", "125000", "0")
    assert (values["firstPayment"], values["totalPayments"], values["periodSeconds"]) == (1896048000, 12, 28 * 86400)
    assert (values["feeAddress"], values["strictOrder"]) == (FEE_ADDRESS, False)
    metadata, total = body["metadata"], 12 * 12_625_000
    needed = int(metadata["totalNeededAllowance"])
    assert needed - int(metadata["existingPaymentsAmount"]) == total
    assert approval(grant) == (PROXY.lower(), needed)
    assert metadata["currentAllowance"] == "0" and metadata["additionalAllowanceNeeded"] == str(needed)
    assert metadata["stepsRequired"] == 2


def test_the_payer_signs_what_the_service_takes_for_each_payment(
    new_shop: Shop, node: Node, configured: Configured
) -> None:
    with configured(RECURRING_RELAYER_FEES='{"fUSDC-sepolia": "0.05", "USDC-base": "1"}'):
        body = made(new_shop, feePercentage="1", feeAddress=FEE_ADDRESS)
    assert body["recurringPaymentPermit"]["values"]["relayerFee"] == "50000"
    metadata = body["metadata"]
    assert int(metadata["totalNeededAllowance"]) - int(metadata["existingPaymentsAmount"]) == 12 * 12_675_000


def test_with_enough_allowed_there_is_only_the_signature(new_shop: Shop, node: Node) -> None:
    node.allowance = 10**30
    body = made(new_shop)
    assert body["transactions"] == [] and body["metadata"]["stepsRequired"] == 1
    assert body["metadata"]["additionalAllowanceNeeded"] == "0"


def test_the_allowance_is_sized_over_all_of_the_payers_payouts(new_shop: Shop, node: Node) -> None:
    node.allowance = 0
    before = int(made(new_shop)["metadata"]["existingPaymentsAmount"])
    first = active(new_shop)
    assert int(made(new_shop)["metadata"]["existingPaymentsAmount"]) == before + 12 * 12_500_000
    assert change(new_shop, first, "cancel").status == 200
    assert int(made(new_shop)["metadata"]["existingPaymentsAmount"]) == before


def test_a_token_that_refuses_to_change_an_allowance_is_set_to_zero_first(new_shop: Shop, node: Node) -> None:
    node.allowance, node.refuses_approval = 1, True
    withdrawal, grant = made(new_shop)["transactions"]
    assert approval(withdrawal) == (PROXY.lower(), 0) and approval(grant)[1] > 0


def test_what_is_to_be_signed_is_answered_again_until_it_is_signed(new_shop: Shop, node: Node) -> None:
    node.allowance = 0
    created = made(new_shop)
    path = f"/v2/payouts/recurring/{created['id']}/permit"
    assert new_shop.api.get(path, new_shop.by_key).json == created
    node.allowance = 10**30
    allowed = new_shop.api.get(path, new_shop.by_key).json
    assert allowed["transactions"] == [] and allowed["metadata"]["stepsRequired"] == 1
    assert new_shop.api.get(path, Shop(new_shop.api).by_key).status == 404
    assert new_shop.api.get(path, new_shop.by_client).status == 403
    assert activate(new_shop, created["id"], SUBSCRIBER.sign_typed(allowed["recurringPaymentPermit"])).status == 201
    refused = new_shop.api.get(path, new_shop.by_key)
    assert (refused.status, refused.message) == (400, "Recurring payment is already active")


def test_its_life_in_published_answers(new_shop: Shop, node: Node) -> None:
    node.allowance = 10**30
    created = made(new_shop)
    name = created["id"]
    shown = new_shop.get(f"/v2/payouts/recurring/{name}").json
    assert (shown["status"], shown["processedPayments"], shown["totalPayments"]) == ("pending", 0, 12)
    assert shown["nextPaymentDate"] == "2030-01-31T00:00:00.000Z" and shown["requests"] == []
    reply = activate(new_shop, name, SUBSCRIBER.sign_typed(created["recurringPaymentPermit"]))
    assert (reply.status, reply.json) == (
        201,
        {"message": "Recurring payment activated successfully", "id": name, "status": "active"},
    )
    shown = new_shop.get(f"/v2/payouts/recurring/{name}").json
    (first,) = shown["requests"]
    request = new_shop.api.request("GET", f"/v2/request/{first['requestId']}", None, new_shop.by_key).json
    assert (request["paymentReference"], request["requestAmount"]) == (first["paymentReference"], "12.5")
    assert (shown["status"], shown["payments"], shown["failureCount"], shown["failureReason"]) == ("active", [], 0, None)
    save(loaded(name), status=RecurringStatus.PAUSED, processed=3, failures=3, failure_reason="Insufficient token allowance")
    shown = new_shop.get(f"/v2/payouts/recurring/{name}").json
    assert (shown["status"], shown["nextPaymentDate"], shown["failureCount"]) == ("paused", None, 3)
    (listed,) = new_shop.api.get("/v2/payouts/recurring", new_shop.by_key).json["recurringPayouts"]
    assert shown["failureCode"] == listed["failureCode"] == "insufficient_allowance"
    resumed = change(new_shop, name, "unpause").json
    metadata = {"processedPayments": 3, "totalPayments": 12, "nextPaymentDate": "2030-04-30T00:00:00.000Z"}
    assert resumed == {"id": name, "status": "active", "metadata": metadata}
    ended = change(new_shop, name, "cancel").json
    assert (ended["id"], ended["status"]) == (name, "cancelled")
    assert ended["metadata"] == {
        "remainingPayments": 9,
        "remainingAmount": str(9 * 12_500_000),
        "remainingPaymentsAmount": str(9 * 12_500_000),
        "processedPayments": 3,
        "totalPayments": 12,
    }
    assert [list(each) for each in ended["transactions"]] == [["to", "data", "value"]]


def test_a_cancellation_asks_for_no_larger_allowance_than_there_is(new_shop: Shop, node: Node) -> None:
    first, _ = active(new_shop), active(new_shop)
    node.allowance = 1
    assert change(new_shop, first, "cancel").json["transactions"] == []


def test_a_cancellation_holds_if_the_node_does_not_answer(new_shop: Shop, node: Node) -> None:
    name = active(new_shop)
    node.status = 500
    reply = change(new_shop, name, "cancel")
    assert reply.status == 200 and len(reply.json["transactions"]) == 1
    assert loaded(name).status is RecurringStatus.CANCELLED


@pytest.mark.parametrize(
    ("recurrence", "changes", "notified"),
    [
        ({"startDate": "2020-01-01"}, {}, "recurrence.startDate is in the past: give today or a later day"),
        ({"startDate": "2020-01-01T10:00:00Z"}, {}, "recurrence.startDate is in the past"),
        ({"startDate": "soon"}, {}, "recurrence.startDate must be a date such as 2030-01-31"),
        ({"startDate": "2107-01-01"}, {}, "recurrence.startDate is too late: the contract knows no dates after 2106-02-07"),
        ({"startDate": "9999-12-31"}, {}, "recurrence.startDate is too late"),
        ({"startDate": None}, {}, "recurrence.startDate is required"),
        ({"frequency": "HOURLY"}, {}, "recurrence.frequency"),
        ({"totalPayments": 0}, {}, f"recurrence.totalPayments must be from 2 to {MAX_PERIODS}"),
        ({"totalPayments": 1}, {}, "recurrence.totalPayments must be from 2 to 255: the contract numbers payments with"),
        ({"totalPayments": 256}, {}, "recurrence.totalPayments must be from 2 to 255"),
        ({"totalPayments": 257}, {}, "recurrence.totalPayments must be from 2 to 255"),
        ({"totalPayments": 2.5}, {}, "recurrence.totalPayments"),
        ({"totalPayments": "12"}, {}, "recurrence.totalPayments"),
        ({"totalPayments": True}, {}, "recurrence.totalPayments"),
        ({"payer": PAYEE}, {}, f"recurrence.payer is the payee {PAYEE}: give the wallet that pays"),
        ({"payer": PAYEE.lower()}, {}, "recurrence.payer is the payee"),
        ({"payer": "0x12"}, {}, "recurrence.payer: Invalid EVM address"),
        ({"payer": "TJCnKsPa7y5okkXvQAidZBzqx3QyQ6sxMW"}, {}, "recurrence.payer"),
        ({"payer": None}, {}, "recurrence.payer is required"),
        ({}, native(), "paymentCurrency: ETH-sepolia-sepolia cannot be paid by recurring payouts: choose an ERC-20 token"),
        ({}, tron(), "paymentCurrency: USDT-tron cannot be paid by recurring payouts"),
        ({}, {"amount": "0"}, "amount must be greater than 0"),
        ({}, {"amount": "1" + "0" * 29}, "The amount with its fees is larger than a recurring payment can be"),
        ({}, {"payee": ZERO}, "payee is the zero address"),
        ({}, {"payerWallet": evm_wallet("other").address}, "payerWallet is not recurrence.payer, who pays: leave it out"),
    ],
    ids=str,
)
def test_what_cannot_recur_is_400_and_nothing_is_written(
    shop: Shop, recurrence: dict[str, Any], changes: dict[str, Any], notified: str
) -> None:
    before = stored()
    reply = send(shop, recurrence, **changes)
    assert reply.status == 400 and reply.message.startswith(notified), reply.message
    assert stored() == before


def test_what_a_payer_commits_to_is_counted_exactly_also_with_many_of_the_largest_payouts() -> None:
    assert LARGEST_PAYMENT * MAX_PERIODS * 100_000 < 10**38, "DynamoDB counts with 38 digits, and fails above"


def test_an_amount_in_dollars_is_refused_because_a_fixed_amount_is_signed(shop: Shop) -> None:
    reply = send(shop, invoiceCurrency="FAU-sepolia")
    assert reply.status == 400 and reply.message.startswith("invoiceCurrency"), reply.message


def test_without_the_services_account_the_operator_is_told_what_to_set(shop: Shop) -> None:
    services = running()
    from tests.support.running import run_on

    run_on(replace(services, settings=replace(services.settings, relayer_keys={})))
    try:
        reply = send(shop)
    finally:
        run_on(services)
    assert reply.status == 400
    assert reply.message == (
        "This deployment makes no recurring payments on sepolia: its operator has to set RELAYER_KEYS"
    )


def test_if_the_node_does_not_answer_nothing_is_written(shop: Shop, node: Node) -> None:
    node.status = 500
    before = stored()
    assert send(shop).status == 503
    assert stored() == before


def test_a_limited_client_id_pays_its_own_payees_alone(new_shop: Shop) -> None:
    limit(new_shop, allowedPayees=[PAYEE], allowedCurrencies=["fUSDC-sepolia"])
    other = evm_wallet("other").address
    refused_by_limit(send(new_shop, payee=other), f"payee {other} is not in its allowedPayees")
    assert send(new_shop).status == 201


def of_another_chain(permit: SchedulePermit) -> str:
    return SUBSCRIBER.sign_typed(typed_data(permit, "base"))


def with_another_amount(permit: SchedulePermit) -> str:
    return SUBSCRIBER.sign_typed(typed_data(replace(permit, amount=permit.amount + 1), "sepolia"))


def of_another_wallet(permit: SchedulePermit) -> str:
    return evm_wallet("other").sign_typed(typed_data(permit, "sepolia"))


def of_the_other_form(permit: SchedulePermit) -> str:
    return high_s(SUBSCRIBER.sign_typed(typed_data(permit, "sepolia")))


@pytest.mark.parametrize(
    "make",
    [
        of_another_chain,
        with_another_amount,
        of_another_wallet,
        of_the_other_form,
        lambda permit: "0x" + "00" * 65,
        lambda permit: "0x1234",
        lambda permit: "signed",
        lambda permit: "",
        lambda permit: SUBSCRIBER.sign_typed(typed_data(permit, "sepolia")) + "00",
    ],
)
def test_a_signature_that_is_not_the_payers_is_400_and_nothing_is_executed(shop: Shop, make: Any) -> None:
    created = made(shop)
    before = stored()
    reply = activate(shop, created["id"], make(loaded(created["id"]).permit))
    assert (reply.status, reply.message) == (400, "Invalid signature provided")
    assert stored() == before and loaded(created["id"]).status is RecurringStatus.PENDING


@pytest.mark.parametrize("v", [0, 1, 27, 28])
def test_a_signature_is_kept_with_27_or_28_as_v_which_the_contract_takes(shop: Shop, v: int) -> None:
    for _ in range(20):
        created = made(shop)
        signature = SUBSCRIBER.sign_typed(created["recurringPaymentPermit"])
        if int(signature[-2:], 16) - 27 == v % 27:
            break
    sent = signature[:-2] + f"{v:02x}"
    assert activate(shop, created["id"], sent).status == 201
    assert loaded(created["id"]).signature == signature


def test_activating_twice_is_400(shop: Shop) -> None:
    schedule = loaded(active(shop))
    before = stored()
    reply = activate(shop, schedule.recurring_id, signature_of(schedule))
    assert (reply.status, reply.message) == (400, "Recurring payment is already active")
    assert stored() == before


@pytest.mark.parametrize(
    ("status", "action", "notified"),
    [
        (RecurringStatus.CANCELLED, "cancel", "Recurring payment is already cancelled"),
        (RecurringStatus.COMPLETED, "cancel", "Cannot cancel a completed recurring payment"),
        (RecurringStatus.ACTIVE, "unpause", "Recurring payment is not paused"),
        (RecurringStatus.PENDING, "unpause", "Recurring payment is not paused"),
        (RecurringStatus.CANCELLED, "unpause", "Recurring payment is not paused"),
        (RecurringStatus.ACTIVE, "invalid_action", "Invalid action: invalid_action"),
    ],
)
def test_a_change_that_cannot_be_made_is_400_in_the_published_words(
    shop: Shop, status: RecurringStatus, action: str, notified: str
) -> None:
    schedule = store_recurring(running(), owner_of(shop))
    save(replace(schedule, version=1), status=status)
    reply = change(shop, schedule.recurring_id, action)
    assert (reply.status, reply.message) == (400, notified)
    assert reply.json == {"message": notified, "error": "Bad Request", "statusCode": 400}


def owner_of(shop: Shop) -> Any:
    from chalicelib.platform.access.callers import Owner
    from chalicelib.platform.access.modes import Mode

    return Owner(shop.account_id, shop.client_id, None, mode=Mode.CLIENT_ID)


def test_one_that_does_not_exist_or_is_anothers_is_404(shop: Shop, new_shop: Shop) -> None:
    name = active(shop)
    for unknown, caller in (("01JXYJKCAHGFTDR15F2D072ESG", shop), ("x" * 500, shop), (name, new_shop)):
        for reply in (
            activate(caller, unknown, "0x" + "12" * 65),
            change(caller, unknown, "cancel"),
            caller.get(f"/v2/payouts/recurring/{unknown}"),
        ):
            assert (reply.status, reply.message) == (404, "Recurring payment not found")
    assert loaded(name).status is RecurringStatus.ACTIVE


def test_a_public_client_id_alone_changes_nothing_that_a_key_has_created(new_shop: Shop) -> None:
    body = item(recurrence=RECURRENCE)
    created = new_shop.api.request("POST", "/v2/payouts", body, new_shop.by_key).json
    reply = change(new_shop, created["id"], "cancel")
    assert reply.status == 403 and reply.message.startswith("A secret of the account has made this")
    assert loaded(created["id"]).status is RecurringStatus.PENDING


def test_an_unsigned_one_is_gone_after_thirty_days(shop: Shop) -> None:
    created = made(shop)
    schedule = loaded(created["id"])
    from datetime import timedelta

    save(schedule, created_at=schedule.created_at - timedelta(days=31))
    reply = activate(shop, created["id"], signature_of(schedule))
    assert (reply.status, reply.message) == (404, "Recurring payment not found")


def test_a_client_id_alone_begins_and_resumes_nothing_unless_its_owner_allows_it(shop: Shop) -> None:
    name = active(shop)
    signed, created = loaded(name), made(shop)
    with executing_alone(shop, False):
        for reply in (
            send(shop),
            activate(shop, created["id"], SUBSCRIBER.sign_typed(created["recurringPaymentPermit"])),
            change(shop, name, "unpause"),
        ):
            assert reply.status == 403 and "mayExecute" in str(reply.message), reply.json
        assert change(shop, name, "cancel").status == 200
    assert signed.status is RecurringStatus.ACTIVE
