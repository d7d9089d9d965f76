"""What becomes of a payer and of a bank account by what the provider says, and which event follows.

The provider decides, and numbers what it says: the newest number counts, whatever the moves between two states. A
report with a number that is not newer changes nothing, so one that comes twice, late or in another order has no effect,
and what it said is part of the newer one.

    identity     not_started -> initiated -> pending -> approved, rejected, retry_required, failed
    agreement    not_started -> pending -> signed -> completed, rejected, failed
    account      pending -> approved, failed

These are the usual moves. The provider may leave some out, or take an approval back.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from chalicelib.base import ids
from chalicelib.base.errors import BadRequest, Conflict, NotFound
from chalicelib.base.frozen import frozen
from chalicelib.base.ids import Entropy
from chalicelib.offramp.payers.records import AccountStatus, AgreementStatus, BankAccount, KycStatus, Payer
from chalicelib.webhooks.rules import Payload

MOST_ACCOUNTS = 20
"""Bank accounts of one payer, each of which the provider checks."""
FIRST_CHECK, LONGEST_PAUSE = timedelta(minutes=10), timedelta(days=1)
"""After how long a payer or an account with an open state is read at the provider; each pause is twice the last one."""
_DOUBLINGS = 8
"""After which a pause would be longer than a day."""
MOST_CHECKS = 40
"""About a month. A person who does nothing until then is read again after the next event or update."""
_ALIASES = {"completed": "approved"}
"""What some providers call an identity check that was passed."""
_SHOWN_KYC = {KycStatus.INITIATED: KycStatus.PENDING, KycStatus.FAILED: KycStatus.REJECTED}
_SHOWN_AGREEMENT = {AgreementStatus.SIGNED: AgreementStatus.PENDING}
"""How events show statuses that their specification does not have: clients know a closed set."""
_ENDED_KYC = (KycStatus.REJECTED, KycStatus.FAILED)
_ENDED_AGREEMENT = (AgreementStatus.REJECTED, AgreementStatus.FAILED)


class PayerNotFound(NotFound):
    """The id is the merchant's and may be an e-mail address, so the log has the message without it."""

    logged = "Payer not found"


def unknown_payer(client_user_id: str) -> PayerNotFound:
    return PayerNotFound(f"Payer with client user ID {client_user_id} not found")


def unknown_user(client_user_id: str) -> PayerNotFound:
    """The error where a bank account is added for a payer who does not exist (supplement, 4.5)."""
    return PayerNotFound(f"User with ID {client_user_id} not found")


@frozen
class Report:
    """What the provider says of a person. `sequence` is its number of this state."""

    sequence: int
    kyc: KycStatus
    agreement: AgreementStatus


@frozen
class AccountReport:
    """What the provider says of a bank account."""

    sequence: int
    status: AccountStatus
    reason: str | None


def kyc_status(text: str) -> KycStatus:
    """Raises ValueError for a status that is not known."""
    return KycStatus(_ALIASES.get(text, text))


def name_hash(account_id: str, client_user_id: str) -> str:
    """The hash under which a payer is found: the id may be an e-mail address."""
    return hashlib.sha256(f"{account_id}\n{client_user_id}".encode()).hexdigest()


def fingerprint(key: bytes, details: Mapping[str, str]) -> str:
    """A hash of bank details, keyed with the person's data key, so that nobody can guess them by it."""
    text = json.dumps(details, sort_keys=True)
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def new_payer(account_id: str, client_id: str | None, user_id: str, sealed: str, now: datetime) -> Payer:
    """A payer whose details the provider does not have yet."""
    return Payer(
        user_id=user_id,
        account_id=account_id,
        client_id=client_id,
        created_at=now,
        kyc_status=KycStatus.NOT_STARTED,
        agreement_status=AgreementStatus.NOT_STARTED,
        sealed=sealed,
        check_at=now + FIRST_CHECK,
    )


def is_submission_open(payer: Payer) -> bool:
    """Whether it is unknown if the provider has the newest details."""
    return payer.update is not None or not payer.is_submitted


def submission_key(payer: Payer) -> str:
    """What the provider knows the newest details by, so that it takes them once, however often they are sent."""
    return f"{payer.user_id}/{payer.revision}"


def updating(payer: Payer, sealed: str, now: datetime) -> Payer:
    """The payer before the provider is asked to take new details. An answer that is lost is made good by a check."""
    return replace(payer, update=sealed, revision=payer.revision + 1, check_at=now + FIRST_CHECK, checks=0)


def answer_update(payer: Payer, submitted: Payer, is_taken: bool) -> Payer:
    """The payer after the provider has taken or refused the update that `submitted` had."""
    if submitted.update is None or payer.update != submitted.update:
        return payer
    return replace(payer, sealed=payer.update if is_taken else payer.sealed, update=None)


def new_account(payer: Payer, mark: str, now: datetime, entropy: Entropy) -> tuple[Payer, BankAccount]:
    """The payer with one bank account more, which has no details yet. Raises BadRequest at the limit.

    `mark` is the fingerprint of its details.
    """
    if payer.bank_accounts >= MOST_ACCOUNTS:
        raise BadRequest(f"A payer has at most {MOST_ACCOUNTS} bank accounts")
    account = BankAccount(
        user_id=payer.user_id,
        details_id=ids.uuid4(entropy),
        account_id=payer.account_id,
        created_at=now,
        status=AccountStatus.PENDING,
        sealed=None,
        fingerprint=mark,
        check_at=now + FIRST_CHECK,
    )
    return replace(payer, bank_accounts=payer.bank_accounts + 1), account


def after_report(payer: Payer, report: Report, now: datetime) -> Payer:
    """The payer by the newest report. One that is not newer, or about an erased payer, changes nothing."""
    if payer.erased_at is not None or report.sequence <= payer.sequence:
        return payer
    taken = replace(
        payer,
        sequence=report.sequence,
        kyc_status=report.kyc,
        agreement_status=report.agreement,
        is_submitted=True,
        checks=0,
    )
    return replace(taken, check_at=now + FIRST_CHECK if is_open(taken) else None)


def after_account_report(account: BankAccount, report: AccountReport, now: datetime) -> BankAccount:
    """The bank account by the newest report. One that is not newer, or about an erased account, changes nothing."""
    if account.sealed is None or report.sequence <= account.sequence:
        return account
    due = now + FIRST_CHECK if report.status is AccountStatus.PENDING else None
    return replace(account, sequence=report.sequence, status=report.status, is_submitted=True, checks=0, check_at=due)


def is_open(payer: Payer) -> bool:
    """Whether the provider's state of a payer is expected to change, or its answer to an update."""
    has_ended = payer.kyc_status in _ENDED_KYC or payer.agreement_status in _ENDED_AGREEMENT
    return payer.update is not None or (not has_ended and not payer.is_compliant)


def check_again(record: Payer | BankAccount, now: datetime) -> Payer | BankAccount:
    """The record when it was read at the provider without news. An erasure is repeated until it is confirmed."""
    pause = FIRST_CHECK * 2**record.checks if record.checks < _DOUBLINGS else LONGEST_PAUSE
    is_last = record.checks + 1 >= MOST_CHECKS and not (isinstance(record, Payer) and record.erased_at)
    return replace(record, checks=record.checks + 1, check_at=None if is_last else now + pause)


def erase_payer(payer: Payer, now: datetime) -> Payer:
    """What is left of a payer: ids, dates and statuses, as payouts refer to them. Raises Conflict during a payout."""
    if payer.open_orders:
        raise Conflict("A payout to this payer is under way: erase the payer when it has ended")
    return replace(payer, sealed=None, update=None, erased_at=now, check_at=now + FIRST_CHECK, checks=0)


def forget_payer(payer: Payer, now: datetime) -> Payer:
    """An erased payer whom the provider has erased, too.

    It is asked once more later: a call that was under way at the erasure may have brought it the details again.
    """
    assert payer.erased_at is not None, "only who was erased is forgotten"
    once_more = payer.erased_at + FIRST_CHECK
    return replace(payer, is_forgotten=True, check_at=once_more if now < once_more else None)


def erase_account(account: BankAccount) -> BankAccount:
    """What is left of a bank account: ids, date and status."""
    return replace(account, sealed=None, fingerprint=None, check_at=None)


def with_orders(payer: Payer, change: int) -> Payer:
    """The payer with one payout more or less under way."""
    return replace(payer, open_orders=max(0, payer.open_orders + change))


def compliance_facts(payer: Payer, kyc_word: str, client_user_id: str) -> Payload:
    """What `compliance.updated` tells: statuses of the specification, and in `rawPayload` the provider's own, of which
    `kyc_word` is that for the identity."""
    return {
        "clientUserId": client_user_id,
        "kycStatus": _SHOWN_KYC.get(payer.kyc_status, payer.kyc_status).value,
        "agreementStatus": _SHOWN_AGREEMENT.get(payer.agreement_status, payer.agreement_status).value,
        "isCompliant": payer.is_compliant,
        "rawPayload": {
            "userId": payer.user_id,
            "kycStatus": kyc_word,
            "agreementStatus": payer.agreement_status.value,
        },
    }


def account_facts(account: BankAccount, reason: str | None, client_user_id: str) -> Payload:
    """What `payment_detail.updated` tells."""
    rejection: dict[str, Any] = {"rejectionMessage": reason} if reason else {}
    return {
        "paymentDetailsId": account.details_id,
        "clientUserId": client_user_id,
        "status": account.status.value,
        **rejection,
        "rawPayload": {"userId": account.user_id, "status": account.status.value},
    }
