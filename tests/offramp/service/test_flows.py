"""Requests that are paid out to a bank account: the order at the provider, what it says of it, and who is told."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.base.errors import BadRequest, Conflict, Forbidden, NotFound
from chalicelib.base.money import BaseUnits
from chalicelib.offramp.core.records import OrderStatus
from chalicelib.offramp.payers.records import AccountStatus, KycStatus, Payer
from chalicelib.offramp.payers.rules import erase_payer
from chalicelib.offramp.service import flows
from chalicelib.offramp.service.rules import NO_ACCOUNT, ChosenAccount
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.outbound.compliance import ProviderOrder, ProviderUnavailable, order_of
from chalicelib.platform.services import Services
from chalicelib.webhooks.publisher import sweep as sweep_outbox
from tests.fakes.crash import Crash, FragileClient, Tripwire
from tests.fakes.escrows import CONTRACTS
from tests.fakes.offramps import (
    DETAILS,
    PERSON,
    bank_account,
    bodies,
    load_order,
    load_payer,
    notified,
    processing,
    store_payer,
)
from tests.fakes.requests import load_request, store_request
from tests.fakes.world import World, in_process_aws

STEPS = ("initiated", "pending_internal_assessment", "ongoing_checks", "sending_fiat", "fiat_sent")
CHOSEN = ChosenAccount(PERSON, DETAILS)
AMOUNT = BaseUnits(12_500_000)


def unpaid(world: World, **changes: Any) -> Request:
    """A request without a payee, on a chain that is read, whose shop has a webhook."""
    world.register_webhook()
    world.tick()
    changes = {"client_id": world.client_id, "is_crypto_to_fiat": True, "payee": "", **changes}
    return store_request(world.services, world.account_id, **changes)


def choose(world: World, request: Request, chosen: ChosenAccount = CHOSEN, services: Services | None = None) -> Request:
    owner = Owner(world.account_id, None, None, mode=Mode.API_KEY)
    return flows.for_bank_account(services or world.services, owner, load_request(world.services, request), chosen, AMOUNT)


def paid(world: World) -> Request:
    """A request that is paid on chain and has an order, of which the shop was told so far."""
    request = choose(world, unpaid(world))
    world.chain.pay(request)
    world.scan()
    return request


def moved(world: World, request: Request, status: str, **changes: Any) -> ProviderOrder:
    """The order in its next state, as the provider tells of it."""
    order_id = load_order(world.services, request).order_id
    return order_of(dict(world.compliance.provider.move("orders", order_id, {"status": status, **changes})))


def orders_made(world: World) -> int:
    return len(world.compliance.provider.resources["orders"])


def test_the_first_choice_of_a_bank_account_orders_and_makes_the_deposit_address_the_payee(world: World) -> None:
    payer = store_payer(world.services)
    request = choose(world, unpaid(world))
    assert request == load_request(world.services, request)
    (made,) = world.compliance.provider.resources["orders"].values()
    assert request.payee.lower() == made["depositAddress"]
    sent = world.compliance.provider.details[made["id"]]
    assert sent == {
        "userId": payer.user_id,
        "bankAccountId": DETAILS,
        "network": "sepolia",
        "token": "fUSDC",
        "tokenAddress": sent["tokenAddress"],
        "amount": "12.5",
        "reference": request.payment_reference,
    }
    order = load_order(world.services, request)
    assert (order.user_id, order.details_id, order.status) == (payer.user_id, DETAILS, OrderStatus.CREATED)
    assert order.is_counted and load_payer(world.services, payer).open_orders == 1, "its payment may be on the way"


def test_a_repeated_choice_orders_nothing_again(world: World) -> None:
    store_payer(world.services)
    request = choose(world, unpaid(world))
    asked = len(world.compliance.calls)
    assert choose(world, request) == request
    assert len(world.compliance.calls) == asked


def test_an_answer_that_is_lost_is_made_good_by_the_same_call(world: World) -> None:
    store_payer(world.services)
    request = unpaid(world)
    world.compliance.trouble = lambda method, path: "lost"
    with pytest.raises(ProviderUnavailable):
        choose(world, request)
    assert load_request(world.services, request).payee == ""
    world.compliance.trouble = lambda method, path: None
    assert choose(world, request).payee
    assert orders_made(world) == 1


@pytest.mark.parametrize("before", [True, False])
def test_a_crash_at_any_call_leaves_what_the_same_call_finishes(before: bool) -> None:
    for fatal in range(1, 20):
        with in_process_aws() as client:
            world = World(client)
            store_payer(world.services)
            request, wire = unpaid(world), Tripwire(fatal, before)
            with suppress(Crash):
                choose(world, request, services=world.start(FragileClient(client, wire)))
            chosen = choose(world, request)
            assert chosen.payee and load_order(world.services, request).version == 1
            assert orders_made(world) == 1
            if wire.calls < fatal:
                return
    raise AssertionError("the call takes more calls")


def test_another_bank_account_is_refused_once_one_is_chosen(world: World) -> None:
    payer = store_payer(world.services)
    other = bank_account(world.services, payer, "other")
    world.services.store.write(other)
    request = choose(world, unpaid(world))
    with pytest.raises(Conflict, match="another bank account"):
        choose(world, request, ChosenAccount(PERSON, "other"))


def test_an_order_that_the_provider_made_for_another_account_is_not_taken(world: World) -> None:
    payer = store_payer(world.services)
    world.services.store.write(bank_account(world.services, payer, "other"))
    request = unpaid(world)
    world.compliance.trouble = lambda method, path: "lost"
    with pytest.raises(ProviderUnavailable):
        choose(world, request, ChosenAccount(PERSON, "other"))
    world.compliance.trouble = lambda method, path: None
    with pytest.raises(Conflict, match="another bank account"):
        choose(world, request)
    assert load_request(world.services, request).payee == ""


@pytest.mark.parametrize(
    ("chosen", "payee", "error", "message"),
    [
        (NO_ACCOUNT, "", BadRequest, "give clientUserId and paymentDetailsId"),
        (ChosenAccount(PERSON), "", BadRequest, "give clientUserId and paymentDetailsId"),
        (ChosenAccount(None, DETAILS), "0x" + "11" * 20, BadRequest, "give clientUserId and paymentDetailsId"),
        (ChosenAccount("stranger", DETAILS), "", NotFound, "No payer was found"),
        (ChosenAccount(PERSON, "unknown"), "", NotFound, "No payer was found"),
    ],
)
def test_a_choice_that_is_incomplete_or_unknown_is_refused(
    world: World, chosen: ChosenAccount, payee: str, error: type[Exception], message: str
) -> None:
    store_payer(world.services)
    with pytest.raises(error, match=message):
        choose(world, unpaid(world, payee=payee), chosen)
    assert world.compliance.calls == []


def test_people_and_accounts_that_are_not_approved_are_refused_with_the_next_step(world: World) -> None:
    payer = store_payer(world.services, kyc_status=KycStatus.PENDING)
    request = unpaid(world)
    with pytest.raises(Forbidden, match="identity pending, agreement completed"):
        choose(world, request)
    world.services.store.write(replace(load_payer(world.services, payer), kyc_status=KycStatus.APPROVED))
    world.services.store.write(bank_account(world.services, payer, "new", status=AccountStatus.PENDING))
    with pytest.raises(Forbidden, match="bank account is pending"):
        choose(world, request, ChosenAccount(PERSON, "new"))


def test_a_person_of_another_account_is_unknown(world: World) -> None:
    store_payer(world.services, account_id="other")
    with pytest.raises(NotFound, match="No payer was found"):
        choose(world, unpaid(world))


def test_a_client_id_alone_chooses_for_its_own_requests_only(world: World) -> None:
    store_payer(world.services)
    owner = Owner(world.account_id, world.client_id, world.origin, mode=Mode.CLIENT_ID)
    own = unpaid(world, client_id=world.client_id, created_with=Mode.CLIENT_ID)
    for client_id, made in ((None, Mode.API_KEY), (world.client_id, Mode.API_KEY), (world.client_id, None)):
        fields = {"client_id": client_id, "created_with": made, "is_crypto_to_fiat": True, "payee": ""}
        request = store_request(world.services, world.account_id, **fields)
        with pytest.raises(Forbidden, match="A secret of the account has made this"):
            flows.for_bank_account(world.services, owner, request, CHOSEN, AMOUNT)
    assert world.compliance.calls == []
    assert flows.for_bank_account(world.services, owner, own, CHOSEN, AMOUNT).payee


def test_without_a_choice_a_request_with_a_payee_is_paid_there(world: World) -> None:
    store_payer(world.services)
    request = unpaid(world, payee="0x" + "11" * 20)
    assert choose(world, request, NO_ACCOUNT) == request
    world.chain.pay(request, amount=5)
    world.scan()
    with pytest.raises(Conflict, match="has been paid to its payee"):
        choose(world, request)
    assert world.compliance.calls == []


def test_after_the_choice_the_payee_is_not_paid_any_more(world: World) -> None:
    store_payer(world.services)
    request = unpaid(world, payee="0x" + "11" * 20)
    choose(world, request)
    with pytest.raises(BadRequest, match="is paid out to a bank account"):
        choose(world, request, NO_ACCOUNT)


def test_what_the_provider_refuses_is_told_and_leaves_nothing(world: World) -> None:
    store_payer(world.services)
    request = unpaid(world)
    world.compliance.trouble = lambda method, path: (422, b'{"fields": ["token"]}')
    with pytest.raises(BadRequest, match=r"does not accept this payout \(token\)"):
        choose(world, request)
    assert load_request(world.services, request).payee == ""


def test_a_deposit_address_of_another_network_is_not_taken(world: World) -> None:
    store_payer(world.services)
    request = unpaid(world)
    choose(world, store_request(world.services, payee="", is_crypto_to_fiat=True))
    provider = world.compliance.provider
    made = dict(next(iter(provider.resources["orders"].values())))
    made |= {"id": f"offramp_{request.request_id}", "depositAddress": "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"}
    provider.resources["orders"][made["id"]] = made
    with pytest.raises(ProviderUnavailable):
        choose(world, request)
    assert load_request(world.services, request).payee == ""


def test_a_deposit_address_that_is_a_contract_of_a_setting_is_not_taken(world: World) -> None:
    store_payer(world.services)
    request = unpaid(world)
    choose(world, store_request(world.services, payee="", is_crypto_to_fiat=True))
    settings = replace(world.services.settings, escrow_contracts={"sepolia": CONTRACTS})
    configured = replace(world.services, settings=settings)
    provider = world.compliance.provider
    made = dict(next(iter(provider.resources["orders"].values())))
    made |= {"id": f"offramp_{request.request_id}", "depositAddress": CONTRACTS.escrow}
    provider.resources["orders"][made["id"]] = made
    with pytest.raises(ProviderUnavailable):
        choose(world, request, services=configured)
    assert load_request(world.services, request).payee == ""
    assert choose(world, request).payee == CONTRACTS.escrow, "without the setting it is an address like others"


def test_a_paid_request_goes_through_every_step_to_its_end(world: World) -> None:
    payer = store_payer(world.services)
    request = paid(world)
    for step in STEPS:
        report = moved(world, request, step)
        for _ in range(2):
            flows.take(world.services, report)
        if step == "ongoing_checks":
            assert load_payer(world.services, payer).open_orders == 1
    assert notified(world) == [*processing(*STEPS), ("confirmed", "")]
    confirmed = bodies(world)[-1]
    assert (confirmed["isCryptoToFiat"], confirmed["totalAmountPaid"]) == (True, "12.5")
    assert (confirmed["txHash"], confirmed["payee"]) == (load_request(world.services, request).tx_hash, request.payee)
    assert load_request(world.services, request).fiat is RequestStatus.PAID
    assert load_payer(world.services, payer).open_orders == 0


def test_reports_that_come_late_or_in_another_order_add_nothing(world: World) -> None:
    store_payer(world.services)
    request = paid(world)
    reports = [moved(world, request, step) for step in ("initiated", "sending_fiat", "fiat_sent")]
    for report in reversed(reports):
        flows.take(world.services, report)
    assert notified(world) == [*processing(*STEPS), ("confirmed", "")]


@pytest.mark.parametrize(
    ("status", "sub_status", "reason"),
    [
        ("bounced", "bounced", "bounced"),
        ("insufficient_funds", "insufficient_funds", "insufficient_funds"),
        ("failed", "failed", "failed"),
        ("cancelled", "failed", "cancelled"),
        ("refunded", "failed", "refunded"),
    ],
)
def test_a_failure_is_told_with_what_the_provider_said(
    world: World, status: str, sub_status: str, reason: str
) -> None:
    store_payer(world.services)
    request = paid(world)
    flows.take(world.services, moved(world, request, status))
    body = bodies(world)[-1]
    assert (body["event"], body["subStatus"], body["failureReason"]) == ("payment.failed", sub_status, reason)
    assert body["rawPayload"]["status"] == status and body["isCryptoToFiat"]
    assert (body["totalAmountPaid"], body["expectedAmount"]) == ("12.5", "12.5")
    stored = load_request(world.services, request)
    assert (stored.status, stored.shown_status, stored.is_settled) == (RequestStatus.PAID, "failed", False)


def test_a_reason_is_passed_on_if_it_is_a_code_because_a_sentence_could_name_the_person(world: World) -> None:
    store_payer(world.services)
    request = paid(world)
    flows.take(world.services, moved(world, request, "failed", reason="Account of Ann Example is closed"))
    assert bodies(world)[-1]["failureReason"] == "failed"
    flows.take(world.services, moved(world, request, "ongoing_checks"))
    flows.take(world.services, moved(world, request, "failed", reason="account_closed"))
    assert bodies(world)[-1]["failureReason"] == "account_closed"


def test_an_order_that_ended_before_its_payment_is_told_and_cannot_be_paid(world: World) -> None:
    store_payer(world.services)
    request = choose(world, unpaid(world))
    flows.take(world.services, moved(world, request, "cancelled"))
    assert notified(world) == [("failed", "failed")]
    assert bodies(world)[0]["txHash"] is None
    with pytest.raises(Conflict, match="create a new request"):
        choose(world, request)


def test_a_report_about_another_bank_account_or_an_unknown_order_changes_nothing(world: World) -> None:
    store_payer(world.services)
    request = paid(world)
    report, before = moved(world, request, "fiat_sent"), load_order(world.services, request)
    for forged in (
        replace(report, account_id="other"),
        replace(report, user_id="other"),
        replace(report, order_id="offramp_" + "01" * 33),
        replace(report, order_id="unknown"),
    ):
        with pytest.raises(NotFound, match="did not send"):
            flows.take(world.services, forged)
    assert load_order(world.services, request) == before


def test_money_under_way_keeps_the_payer_from_being_erased(world: World) -> None:
    payer = store_payer(world.services)
    request = paid(world)
    flows.take(world.services, moved(world, request, "sending_fiat"))
    with pytest.raises(Conflict, match="under way"):
        erase_payer(load_payer(world.services, payer), world.now)
    flows.take(world.services, moved(world, request, "refunded"))
    assert erase_payer(load_payer(world.services, payer), world.now).sealed is None


@pytest.mark.parametrize("before", [True, False])
def test_a_crash_at_any_call_while_a_report_is_taken_tells_of_it_once(before: bool) -> None:
    for fatal in range(1, 20):
        with in_process_aws() as client:
            world = World(client)
            store_payer(world.services)
            request, wire = paid(world), Tripwire(fatal, before)
            report = moved(world, request, "fiat_sent")
            with suppress(Crash):
                flows.take(world.start(FragileClient(client, wire)), report)
            flows.take(world.services, report)
            world.advance(60)
            sweep_outbox(world.services)
            in_order = sorted(bodies(world), key=lambda body: str(body["timestamp"]))  # the sweep keeps no order
            assert [body["subStatus"] for body in in_order] == [*STEPS, ""]
            if wire.calls < fatal:
                return
    raise AssertionError("the report takes more calls")


def test_how_many_calls_to_the_database_an_order_and_its_reports_take(world: World) -> None:
    store_payer(world.services)
    request, counter = unpaid(world), Tripwire()
    counted = world.start(FragileClient(world.client, counter))

    def calls() -> int:
        made, counter.calls = counter.calls, 0
        return made

    chosen = choose(world, request, services=counted)
    assert calls() == 7  # the order, three of the payer, the payable, the payer again, and the transaction
    choose(world, request, services=counted)
    assert calls() == 4
    world.chain.pay(chosen)
    world.scan()
    report = moved(world, request, "sending_fiat")
    flows.take(counted, report)
    assert calls() == 2  # the payable and the transaction
    flows.take(counted, report)
    assert calls() == 1
    flows.take(counted, moved(world, request, "fiat_sent"))
    assert calls() == 4  # the payer, too, and the payments of the request, for the one that completed it


def test_a_payer_record_that_is_gone_stops_no_report(world: World) -> None:
    payer: Payer = store_payer(world.services)
    request = paid(world)
    world.client.delete_item(
        TableName="payment-requests-local-payments",
        Key={"pk": {"S": payer.key.pk}, "sk": {"S": payer.key.sk}},
    )
    flows.take(world.services, moved(world, request, "fiat_sent"))
    assert notified(world)[-1] == ("confirmed", "")
