"""People and bank accounts are created at the provider once, whatever it answers and wherever a process dies."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.base.errors import BadRequest, Conflict, Forbidden, NotFound, ValidationFailed
from chalicelib.offramp.payers import bank_accounts, flows, reading, reports, rules
from chalicelib.offramp.payers.checking import check_due
from chalicelib.offramp.payers.details import person
from chalicelib.offramp.payers.records import AccountStatus, AgreementStatus, KycStatus
from chalicelib.offramp.payers.rules import PayerNotFound
from chalicelib.platform.outbound.compliance import ProviderUnavailable
from chalicelib.platform.privacy import flows as privacy
from chalicelib.platform.storage.store import WriteConflict
from tests.fakes.compliance import BANK, PERSON, FakeCompliance
from tests.fakes.crash import Crash, FragileClient, FragileQueue, Interruption, Tripwire
from tests.fakes.world import World, in_process_aws, in_process_tables
from tests.offramp.payers.people import NAME, account, add_account, payer, register, said, said_of


def items(kind: str) -> int:
    """How many records of payers there are, by the first word of their partition."""
    tables = in_process_tables().values()
    return sum(len(part) for table in tables for pk, part in table.items.items() if pk.startswith(kind))


def kept(world: World) -> int:
    return sum(items(kind) for kind in ("PAYER#", "PERSON#", "CLIENT_USER#"))


def details(world: World) -> dict[str, str]:
    """The details that are kept of the payer."""
    found = payer(world)
    key = privacy.data_key(world.services, found.user_id)
    assert key is not None
    return dict(person(key, found)[1])


# --- people ---


def test_a_person_is_registered_with_the_details_that_were_sent(world: World) -> None:
    made, user = flows.put(world.services, world.actor, None, NAME, PERSON)
    provider = world.compliance.provider
    assert provider.details[made.user_id] == PERSON
    assert user.kyc_url == provider.resources["users"][made.user_id]["kycUrl"]
    assert (made.kyc_status, made.agreement_status, made.is_submitted) == ("not_started", "not_started", True)
    assert details(world) == PERSON


def test_the_same_id_again_updates_the_details_and_creates_nobody(world: World) -> None:
    first = register(world)
    again = register(world, city="Boston")
    assert again.user_id == first.user_id
    assert details(world)["city"] == "Boston"
    assert list(world.compliance.provider.resources["users"]) == [first.user_id]


def test_the_same_id_in_another_account_is_somebody_else(world: World) -> None:
    mine = register(world)
    other = replace(world.actor, account_id="another")
    assert flows.put(world.services, other, None, NAME, PERSON)[0].user_id != mine.user_id
    with pytest.raises(PayerNotFound):
        reading.read(world.services, "a third", NAME)


@pytest.mark.parametrize("trouble", ["down", "lost"])
def test_an_answer_that_never_came_is_a_503_and_the_same_call_again_finishes_it(world: World, trouble: str) -> None:
    world.compliance.trouble = lambda method, path: trouble
    with pytest.raises(ProviderUnavailable):
        register(world)
    assert not payer(world).is_submitted
    reserved = payer(world).user_id
    world.compliance.trouble = lambda method, path: None
    assert register(world).user_id == reserved
    assert payer(world).is_submitted
    assert list(world.compliance.provider.resources["users"]) == [reserved]


def test_of_a_person_whom_the_provider_refuses_nothing_is_kept(world: World) -> None:
    with pytest.raises(ValidationFailed) as refused:
        register(world, phone="refused", city="refused")
    assert refused.value.message == "Invalid payer details"
    assert [problem.field for problem in refused.value.problems] == ["city", "phone"]
    assert kept(world) == 0
    assert register(world).is_submitted


def test_an_update_that_is_refused_leaves_the_details_as_they_were(world: World) -> None:
    register(world)
    with pytest.raises(ValidationFailed):
        register(world, phone="refused")
    assert details(world)["phone"] == PERSON["phone"]


HONEST = {"id": "?", "sequence": 1, "kycStatus": "pending", "agreementStatus": "pending"}
WRONG: list[tuple[int, Any]] = [
    (200, {**HONEST, "id": "another"}),
    (200, {**HONEST, "kycStatus": "unheard_of"}),
    (200, {**HONEST, "agreementStatus": 7}),
    (200, {**HONEST, "sequence": 0}),
    (200, {**HONEST, "sequence": "1"}),
    (200, {**HONEST, "sequence": True}),
    (200, {**HONEST, "sequence": 2**53}),
    (200, {**HONEST, "kycUrl": "javascript:alert(1)"}),
    (200, {**HONEST, "kycUrl": "https://a b"}),
    (200, []),
    (200, b"<html>"),
    (200, b"[" * 100_000),
    (200, b""),
    (204, b""),
    (302, b""),
    (401, b"{}"),
    (404, b"{}"),
    (409, b"{}"),
    (429, b"{}"),
    (500, b"{}"),
]


@pytest.mark.parametrize(("status", "body"), WRONG, ids=map(str, range(len(WRONG))))
def test_an_answer_in_another_form_is_no_answer(world: World, status: int, body: Any) -> None:
    made = register(world)
    if isinstance(body, dict) and body["id"] == "?":
        body = {**body, "id": made.user_id}
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    before = payer(world)
    world.compliance.trouble = lambda method, path: (status, raw)
    with pytest.raises(ProviderUnavailable) as error:
        flows.complete_agreement(world.services, world.account_id, NAME)
    assert error.value.message == "The compliance provider did not answer: try again"
    assert payer(world) == before


@pytest.mark.parametrize("body", [b"{}", b'{"fields": 7}', b'{"fields": [7, null]}', b"no", b'"fields"', b"[" * 999])
def test_a_refusal_that_names_no_field_is_one_all_the_same(world: World, body: bytes) -> None:
    world.compliance.trouble = lambda method, path: (422, body)
    with pytest.raises(ValidationFailed) as refused:
        register(world)
    assert refused.value.message == "Invalid payer details"
    assert kept(world) == 0


def test_the_provider_decides_whether_an_agreement_is_completed(world: World) -> None:
    made = register(world)
    answer = {"id": made.user_id, "sequence": 2, "kycStatus": "pending", "agreementStatus": "signed"}
    world.compliance.trouble = lambda method, path: (200, json.dumps(answer).encode())
    flows.complete_agreement(world.services, world.account_id, NAME)
    assert payer(world).agreement_status is AgreementStatus.SIGNED
    world.compliance.trouble = lambda method, path: None
    world.compliance.provider.move("users", made.user_id, {"kycStatus": "approved"})
    flows.complete_agreement(world.services, world.account_id, NAME)
    assert payer(world).kyc_status is KycStatus.APPROVED
    assert payer(world).is_compliant


@pytest.mark.parametrize(
    "call",
    [
        lambda world: flows.put(world.services, world.actor, None, NAME, PERSON),
        lambda world: flows.complete_agreement(world.services, world.account_id, NAME),
        lambda world: bank_accounts.add(world.services, world.account_id, NAME, BANK),
    ],
)
def test_without_a_provider_nothing_is_offered(world: World, call: Callable[[World], Any]) -> None:
    world.services = replace(world.services, compliance=FakeCompliance(is_configured=False))
    with pytest.raises(BadRequest) as refused:
        call(world)
    assert refused.value.message == (
        "Compliance is only required for off-ramp requests, and this deployment offers none: "
        "COMPLIANCE_API_URL is not set"
    )
    assert kept(world) == 0


# --- processes that die, and two at once ---


@pytest.mark.parametrize("before", [True, False])
def test_a_process_that_dies_anywhere_leaves_nothing_that_the_same_call_does_not_finish(before: bool) -> None:
    for fatal in range(1, 60):
        with in_process_aws() as client:
            world = World(client)
            wire = Tripwire(fatal, before)
            dying = world.start(FragileClient(client, wire), FragileQueue(world.queue, wire))
            try:
                register(world, dying)
                add_account(world, dying)
                is_through = True
            except Crash:
                is_through = False
            register(world)
            made = add_account(world)
            provider = world.compliance.provider
            assert list(provider.resources["users"]) == [payer(world).user_id], fatal
            assert list(provider.resources["bank-accounts"]) == [made.details_id], fatal
            assert (payer(world).is_submitted, payer(world).bank_accounts) == (True, 1)
            assert account(world, made).is_submitted
            if is_through:
                return
    raise AssertionError("more calls than expected")


def test_two_calls_at_once_register_one_person() -> None:
    for position in range(1, 12):
        with in_process_aws() as client:
            world = World(client)
            other = Interruption(position, lambda w=world: register(w))  # type: ignore[misc]
            try:
                register(world, world.start(FragileClient(client, other)))
            except WriteConflict:  # 409: the record was changed at the same moment
                register(world)
            assert list(world.compliance.provider.resources["users"]) == [payer(world).user_id]
            assert (items("PERSON#"), items("CLIENT_USER#")) == (1, 1)


def during_the_first_put(world: World, then: Callable[[], Any], is_before: bool = True) -> None:
    """Does something while the provider has the next PUT: before it acts on it, or before it answers."""
    send = world.compliance._send

    def overtaken(method: str, *rest: Any) -> tuple[int, bytes]:
        if method != "PUT":
            return send(method, *rest)
        world.compliance._send = send  # type: ignore[method-assign]
        if is_before:
            then()
        answer = send(method, *rest)
        if not is_before:
            then()
        return answer

    world.compliance._send = overtaken  # type: ignore[method-assign]


@pytest.mark.parametrize("is_before", [True, False])
@pytest.mark.parametrize("cities", [("Rome", "Rome"), ("Rome", "Oslo"), ("refused", "Oslo"), ("Rome", "refused")])
def test_two_first_registrations_at_once_are_one_person_at_the_provider_and_here(
    world: World, cities: tuple[str, str], is_before: bool
) -> None:
    one, other = cities

    def attempt(city: str) -> None:
        with suppress(ValidationFailed, WriteConflict):
            register(world, city=city)

    during_the_first_put(world, lambda: attempt(other), is_before)
    attempt(one)
    (user_id,) = world.compliance.provider.resources["users"]
    assert payer(world).user_id == user_id
    assert details(world) == world.compliance.provider.details[user_id]
    assert details(world)["city"] in (one, other) and details(world)["city"] != "refused"
    assert (payer(world).is_submitted, payer(world).update, items("PERSON#")) == (True, None, 1)


@pytest.mark.parametrize("trouble", ["down", "lost"])
def test_other_details_after_a_lost_answer_are_a_later_update_of_the_same_person(world: World, trouble: str) -> None:
    world.compliance.trouble = lambda method, path: trouble
    with pytest.raises(ProviderUnavailable):
        register(world)
    reserved = payer(world).user_id
    world.compliance.trouble = lambda method, path: None
    register(world, city="Boston")
    assert list(world.compliance.provider.resources["users"]) == [reserved]
    assert details(world) == world.compliance.provider.details[reserved]
    assert (details(world)["city"], payer(world).revision) == ("Boston", 2)


@pytest.mark.parametrize("trouble", ["down", "lost"])
def test_an_update_whose_answer_was_lost_is_made_good_by_the_sweep(world: World, trouble: str) -> None:
    made = register(world)
    reports.take_user(world.services, said(made, 9, "approved", "completed"))
    world.compliance.trouble = lambda method, path: trouble
    with pytest.raises(ProviderUnavailable):
        register(world, city="Boston")
    assert (details(world)["city"], payer(world).is_compliant) == (PERSON["city"], True), "the provider may have the old"
    assert flows.export(world.services, world.actor, NAME)[1]["city"] == "Boston", "what is kept beside it, too"
    world.compliance.trouble = lambda method, path: None
    world.now += rules.FIRST_CHECK
    assert check_due(world.services) == 1
    assert details(world)["city"] == world.compliance.provider.details[made.user_id]["city"] == "Boston"
    assert (payer(world).update, payer(world).check_at is not None) == (None, True)
    world.now += rules.LONGEST_PAUSE
    check_due(world.services)
    puts = [path for method, path in world.compliance.calls if method == "PUT"]
    assert len(puts) == 3, "it is not sent again"


def test_an_update_whose_answer_was_lost_is_finished_by_the_same_call_or_before_the_next_one(world: World) -> None:
    made = register(world)
    for city in ("Boston", "Chicago"):
        world.compliance.trouble = lambda method, path: "lost"
        with pytest.raises(ProviderUnavailable):
            register(world, city=city)
        world.compliance.trouble = lambda method, path: None
        register(world, city=city)
        assert details(world)["city"] == world.compliance.provider.details[made.user_id]["city"] == city
    world.compliance.trouble = lambda method, path: "lost"
    with pytest.raises(ProviderUnavailable):
        register(world, city="Denver")
    world.compliance.trouble = lambda method, path: None
    with pytest.raises(ValidationFailed):
        register(world, city="refused")
    assert details(world)["city"] == world.compliance.provider.details[made.user_id]["city"] == "Denver"


def test_an_update_that_is_refused_at_last_is_dropped_and_the_old_details_stay(world: World) -> None:
    register(world)
    world.compliance.trouble = lambda method, path: "down"
    with pytest.raises(ProviderUnavailable):
        register(world, city="refused")
    world.compliance.trouble = lambda method, path: None
    world.now += rules.FIRST_CHECK
    check_due(world.services)
    assert (details(world), payer(world).update) == (PERSON | {"email": NAME}, None)
    assert flows.export(world.services, world.actor, NAME)[1] == PERSON | {"email": NAME}


@pytest.mark.parametrize("is_before", [True, False])
def test_of_two_updates_at_once_the_provider_has_the_one_that_is_kept(world: World, is_before: bool) -> None:
    made = register(world)
    during_the_first_put(world, lambda: register(world, city="Oslo"), is_before)
    register(world, city="Rome")
    assert details(world)["city"] == world.compliance.provider.details[made.user_id]["city"] == "Oslo"
    assert (payer(world).revision, payer(world).update) == (3, None)


def test_the_same_details_again_are_sent_with_the_same_number_and_written_nowhere(world: World) -> None:
    register(world)
    before = payer(world)
    register(world)
    assert payer(world) == before


def test_a_process_that_dies_during_an_update_leaves_what_the_sweep_finishes() -> None:
    for is_early in (True, False):
        for fatal in range(1, 30):
            with in_process_aws() as client:
                world = World(client)
                made = register(world)
                wire = Tripwire(fatal, is_early)
                with suppress(Crash):
                    register(world, world.start(FragileClient(client, wire)), city="Boston")
                world.now += rules.LONGEST_PAUSE
                check_due(world.services)
                assert details(world) == world.compliance.provider.details[made.user_id], fatal
                assert payer(world).update is None
                if wire.calls < fatal:
                    break


def test_an_event_that_arrives_before_the_answer_is_not_overwritten(world: World) -> None:
    made = register(world)

    def overtaken(method: str, path: str) -> None:
        reports.take_user(world.services, said(made, 5, "approved", "completed"))

    world.compliance.trouble = overtaken
    register(world, city="Boston")
    assert payer(world).is_compliant
    assert details(world)["city"] == "Boston"


# --- bank accounts ---


def test_a_bank_account_is_submitted_with_the_details_that_were_sent(world: World) -> None:
    register(world)
    made = add_account(world)
    assert world.compliance.provider.details[made.details_id] == BANK
    assert bank_accounts.read(world.services, world.account_id, NAME, None) == [(account(world, made), BANK)]
    assert bank_accounts.read(world.services, world.account_id, NAME, made.details_id)[0][1] == BANK


def test_the_same_details_are_the_same_account_and_others_another(world: World) -> None:
    register(world)
    first, again, other = add_account(world), add_account(world), add_account(world, accountNumber="1")
    assert first.details_id == again.details_id != other.details_id
    turned = bank_accounts.add(world.services, world.account_id, NAME, dict(reversed(BANK.items())))
    assert turned.details_id == first.details_id, "in whatever order they are sent"
    assert payer(world).bank_accounts == 2
    assert [each.details_id for each, _ in bank_accounts.read(world.services, world.account_id, NAME, None)] == sorted(
        (first.details_id, other.details_id)
    )


@pytest.mark.parametrize("trouble", ["down", "lost"])
def test_an_account_whose_answer_never_came_is_finished_by_the_same_call(world: World, trouble: str) -> None:
    register(world)
    world.compliance.trouble = lambda method, path: trouble
    with pytest.raises(ProviderUnavailable):
        add_account(world)
    world.compliance.trouble = lambda method, path: None
    made = add_account(world)
    assert list(world.compliance.provider.resources["bank-accounts"]) == [made.details_id]
    assert made.is_submitted


def test_of_an_account_that_the_provider_refuses_nothing_is_kept(world: World) -> None:
    register(world)
    with pytest.raises(ValidationFailed) as refused:
        add_account(world, accountNumber="refused")
    assert refused.value.message == "Invalid bank account details"
    assert [problem.field for problem in refused.value.problems] == ["accountNumber"]
    assert payer(world).bank_accounts == 0
    assert bank_accounts.read(world.services, world.account_id, NAME, None) == []


def test_a_payer_has_a_limited_number_of_accounts(world: World) -> None:
    register(world)
    for number in range(rules.MOST_ACCOUNTS):
        add_account(world, accountNumber=str(number))
    with pytest.raises(BadRequest, match="at most 20 bank accounts"):
        add_account(world, accountNumber="more")
    assert add_account(world, accountNumber="0").details_id, "one that exists is no further one"


def test_an_account_of_nobody_is_refused_in_the_published_words(world: World) -> None:
    with pytest.raises(PayerNotFound) as unknown:
        add_account(world)
    assert unknown.value.message == f"User with ID {NAME} not found"
    with pytest.raises(PayerNotFound) as unread:
        bank_accounts.read(world.services, world.account_id, NAME, None)
    assert unread.value.message == f"Payer with client user ID {NAME} not found"
    register(world)
    with pytest.raises(NotFound, match="no such payment details"):
        bank_accounts.read(world.services, world.account_id, NAME, "fa898aec-519c-46be-9b4c-e76ef4ff99d9")


# --- who can be paid ---


def test_who_can_be_paid_and_what_has_to_happen_first(world: World) -> None:
    made = register(world)
    bank = add_account(world)

    def refusal() -> str:
        with pytest.raises((Forbidden, NotFound)) as refused:
            reading.payable(world.services, world.account_id, NAME, bank.details_id)
        return refused.value.message

    assert refusal() == (
        "The payer is not compliant (identity not_started, agreement not_started): "
        "POST /v2/payer gives the links to complete both"
    )
    reports.take_user(world.services, said(made, 2, "approved", "completed"))
    assert refusal() == "The bank account is pending: wait until it is approved, or add another one"
    reports.take_account(world.services, said_of(bank, 2, "approved"))
    found = reading.payable(world.services, world.account_id, NAME, bank.details_id)
    assert (found[0].user_id, found[1].status) == (made.user_id, AccountStatus.APPROVED)
    with pytest.raises(NotFound, match="No payer was found"):
        reading.payable(world.services, world.account_id, NAME, "another")
    with pytest.raises(NotFound, match="No payer was found"):
        reading.payable(world.services, "another", NAME, bank.details_id)


def test_a_payer_is_not_erased_during_a_payout(world: World) -> None:
    under_way = rules.with_orders(register(world), 1)
    with pytest.raises(Conflict, match="under way"):
        rules.erase_payer(under_way, world.now)
    left = rules.erase_payer(replace(rules.with_orders(under_way, -1), checks=9, update="sealed"), world.now)
    assert (left.sealed, left.update) == (None, None)
    assert (left.erased_at, left.open_orders) == (world.now, 0)
    assert (left.check_at, left.checks) == (world.now + rules.FIRST_CHECK, 0), "until the provider has erased it, too"
    assert rules.with_orders(left, -1).open_orders == 0
