"""What becomes of payers and bank accounts: each report, check, update and erasure, and the bodies of events."""

import hmac
import itertools
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.errors import BadRequest, Conflict
from chalicelib.offramp.payers import rules
from chalicelib.offramp.payers.records import AccountStatus, AgreementStatus, BankAccount, KycStatus, Payer
from chalicelib.offramp.payers.rules import AccountReport, Report
from tests.fakes.world import START as NOW

SOON, LATER = timedelta(minutes=10), NOW + timedelta(days=3)
OPEN = Report(2, KycStatus.PENDING, AgreementStatus.PENDING)
COMPLIANT = Report(2, KycStatus.APPROVED, AgreementStatus.COMPLETED)
_COUNTER = itertools.count(1)


def payer(**changes: Any) -> Payer:
    return replace(rules.new_payer("acct", "cli_a", "user", "sealed", NOW), **changes)


def account(**changes: Any) -> BankAccount:
    made = rules.new_account(payer(), "mark", NOW, lambda length: next(_COUNTER).to_bytes(length, "big"))[1]
    return replace(made, **{"sealed": "sealed", **changes})


def test_a_new_payer_is_checked_soon() -> None:
    statuses = (KycStatus.NOT_STARTED, AgreementStatus.NOT_STARTED)
    assert payer() == Payer("user", "acct", "cli_a", NOW, *statuses, "sealed", check_at=NOW + SOON)


def test_a_new_account_is_counted_and_checked_soon_and_a_payer_has_at_most_twenty() -> None:
    before = payer(bank_accounts=19)
    after, made = rules.new_account(before, "mark", NOW, lambda length: b"\x01" * length)
    assert after == replace(before, bank_accounts=20)
    details = {"status": AccountStatus.PENDING, "sealed": None, "fingerprint": "mark", "check_at": NOW + SOON}
    assert made == BankAccount("user", made.details_id, "acct", NOW, **details)  # type: ignore[arg-type]
    with pytest.raises(BadRequest, match="at most 20 bank accounts"):
        rules.new_account(after, "mark", NOW, lambda length: b"\x01" * length)


def test_a_submission_is_open_until_the_provider_has_the_newest_details() -> None:
    assert rules.is_submission_open(payer())
    assert rules.is_submission_open(payer(update="newer")) and rules.is_submission_open(payer(is_submitted=True, update="newer"))
    assert not rules.is_submission_open(payer(is_submitted=True))


def test_an_update_has_a_number_of_its_own_and_begins_the_checks_anew() -> None:
    before = payer(revision=2, checks=7, check_at=None)
    after = rules.updating(before, "newer", LATER)
    assert after == replace(before, update="newer", revision=3, check_at=LATER + SOON, checks=0)
    assert rules.submission_key(after) == "user/3"


@pytest.mark.parametrize(("is_taken", "sealed"), [(True, "newer"), (False, "sealed")])
def test_an_update_that_was_answered_is_kept_if_it_was_taken(is_taken: bool, sealed: str) -> None:
    updated = payer(update="newer")
    assert rules.answer_update(updated, updated, is_taken) == replace(updated, sealed=sealed, update=None)


def test_an_answer_to_another_update_changes_nothing() -> None:
    newest = payer(update="newest")
    assert rules.answer_update(newest, payer(update="newer"), True) == newest
    assert rules.answer_update(newest, payer(), True) == newest
    assert rules.answer_update(payer(), payer(), True) == payer()
    assert rules.answer_update(payer(), payer(update="newer"), True) == payer()


@pytest.mark.parametrize(("report", "check_at"), [(OPEN, LATER + SOON), (COMPLIANT, None)])
def test_a_newer_report_is_taken_and_begins_the_checks_anew(report: Report, check_at: Any) -> None:
    before = payer(sequence=1, checks=5)
    state = {"sequence": 2, "kyc_status": report.kyc, "agreement_status": report.agreement}
    expected = replace(before, **state, is_submitted=True, checks=0, check_at=check_at)
    assert rules.after_report(before, report, LATER) == expected


def test_a_report_that_is_not_newer_or_comes_after_an_erasure_changes_nothing() -> None:
    for before in (payer(sequence=2), payer(sequence=3), payer(sequence=1, erased_at=NOW)):
        assert rules.after_report(before, OPEN, LATER) == before
    for kept in (account(sequence=2), account(sequence=3), account(sequence=1, sealed=None)):
        assert rules.after_account_report(kept, AccountReport(2, AccountStatus.FAILED, None), LATER) == kept


@pytest.mark.parametrize("status", list(AccountStatus))
def test_a_newer_report_of_an_account_is_taken_and_ends_its_checks_unless_it_is_pending(status: AccountStatus) -> None:
    before = account(sequence=1, checks=5)
    check_at = LATER + SOON if status is AccountStatus.PENDING else None
    state = {"sequence": 2, "status": status, "is_submitted": True, "checks": 0, "check_at": check_at}
    assert rules.after_account_report(before, AccountReport(2, status, None), LATER) == replace(before, **state)


@given(kyc=st.sampled_from(KycStatus), agreement=st.sampled_from(AgreementStatus))
def test_a_payer_is_open_until_a_check_has_ended_or_both_are_done(kyc: KycStatus, agreement: AgreementStatus) -> None:
    found = payer(kyc_status=kyc, agreement_status=agreement)
    ended = {kyc.value, agreement.value} & {"rejected", "failed"}
    assert rules.is_open(found) == (not ended and (kyc.value, agreement.value) != ("approved", "completed"))
    assert rules.is_open(replace(found, update="newer"))


@pytest.mark.parametrize(
    ("checks", "minutes"), [(0, 10), (1, 20), (6, 640), (7, 1280), (8, 1440), (30, 1440), (38, 1440), (39, None), (50, None)]
)
def test_pauses_double_up_to_a_day_for_forty_checks(checks: int, minutes: int | None) -> None:
    for before in (payer(checks=checks), account(checks=checks)):
        check_at = None if minutes is None else LATER + timedelta(minutes=minutes)
        assert rules.check_again(before, LATER) == replace(before, checks=checks + 1, check_at=check_at)
    erased = payer(checks=checks, erased_at=NOW)
    found = rules.check_again(erased, LATER)
    assert found.check_at == LATER + timedelta(minutes=minutes or 1440), "an erasure is repeated until it is confirmed"


def test_of_an_erased_payer_no_details_are_left() -> None:
    before = payer(update="newer", checks=5)
    gone = {"sealed": None, "update": None, "erased_at": LATER, "check_at": LATER + SOON, "checks": 0}
    assert rules.erase_payer(before, LATER) == replace(before, **gone)
    with pytest.raises(Conflict, match="under way"):
        rules.erase_payer(payer(open_orders=1), LATER)
    kept = account(status=AccountStatus.APPROVED)
    assert rules.erase_account(kept) == replace(kept, sealed=None, fingerprint=None, check_at=None)


@pytest.mark.parametrize(("after", "is_last"), [(timedelta(0), False), (SOON - timedelta(seconds=1), False), (SOON, True)])
def test_the_provider_is_asked_once_more_to_erase_what_a_call_under_way_may_have_brought_it(
    after: timedelta, is_last: bool
) -> None:
    erased = rules.erase_payer(payer(), LATER)
    expected = replace(erased, is_forgotten=True, check_at=None if is_last else LATER + SOON)
    assert rules.forget_payer(erased, LATER + after) == expected


@pytest.mark.parametrize(("before", "change", "after"), [(0, 1, 1), (2, -1, 1), (1, -1, 0), (0, -1, 0)])
def test_payouts_under_way_are_counted_and_never_below_none(before: int, change: int, after: int) -> None:
    assert rules.with_orders(payer(open_orders=before), change) == payer(open_orders=after)


def test_a_fingerprint_is_that_of_the_details_in_any_order_and_of_the_key() -> None:
    details = {"iban": "DE89", "bic": "COBADEFF"}
    mark = rules.fingerprint(b"key", details)
    assert mark == rules.fingerprint(b"key", dict(reversed(details.items())))
    assert mark == hmac.new(b"key", b'{"bic": "COBADEFF", "iban": "DE89"}', "sha256").hexdigest()
    assert mark not in (rules.fingerprint(b"other", details), rules.fingerprint(b"key", {**details, "bic": "X"}))


def test_a_payer_is_found_by_the_hash_of_account_and_id() -> None:
    hashes = {rules.name_hash(*names) for names in (("a", "b"), ("a", "c"), ("b", "b"), ("ab", ""))}
    assert len(hashes) == 4 and rules.name_hash("a", "b") in hashes


@pytest.mark.parametrize("kyc", KycStatus)
@pytest.mark.parametrize("agreement", AgreementStatus)
def test_events_tell_statuses_of_the_specification_alone(kyc: KycStatus, agreement: AgreementStatus) -> None:
    facts = rules.compliance_facts(payer(kyc_status=kyc, agreement_status=agreement), kyc.value, "ada")
    assert facts["kycStatus"] in {"not_started", "pending", "approved", "rejected", "retry_required"}
    assert facts["agreementStatus"] in {"not_started", "pending", "completed", "rejected", "failed"}
    assert (facts["rawPayload"]["kycStatus"], facts["rawPayload"]["agreementStatus"]) == (kyc.value, agreement.value)


def test_the_bodies_of_events_have_the_published_fields() -> None:
    found = payer(kyc_status=KycStatus.APPROVED, agreement_status=AgreementStatus.SIGNED)
    statuses = {"kycStatus": "approved", "agreementStatus": "pending"}
    notified = {"clientUserId": "ada", **statuses, "isCompliant": False}
    raw = {"userId": "user", "kycStatus": "completed", "agreementStatus": "signed"}
    assert rules.compliance_facts(found, "completed", "ada") == {**notified, "rawPayload": raw}
    failed = account(status=AccountStatus.FAILED)
    body = rules.account_facts(failed, "No such account", "ada")
    assert body == {
        "paymentDetailsId": failed.details_id,
        "clientUserId": "ada",
        "status": "failed",
        "rejectionMessage": "No such account",
        "rawPayload": {"userId": "user", "status": "failed"},
    }
    assert "rejectionMessage" not in json.dumps(rules.account_facts(failed, None, "ada"))
