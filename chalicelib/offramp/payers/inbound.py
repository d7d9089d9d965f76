"""Checks the events that the compliance provider sends: who signed them, when, and what they are about.

    x-provider-timestamp: <seconds since 1970>
    x-provider-signature: <hex HMAC-SHA256 of "<timestamp>.<body>", keyed with the secret shared with the provider>

    {"id": "evt_1", "account": "<ours>", "kind": "user" | "bank_account" | "order", "data": {<as in answers>}}

An event carries the whole state of one resource, numbered by its `sequence`. So an event that comes twice, late or in
another order is known by its number, and one that is lost is made good by the next one.
"""

import hashlib
import hmac
import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from chalicelib.base.errors import BadRequest, Forbidden, PayloadTooLarge, Unauthorized
from chalicelib.offramp.payers.reports import account_report_of, report_of
from chalicelib.platform.outbound import compliance
from chalicelib.platform.services import Services

TOLERANCE = timedelta(minutes=5)
"""How far the time of an event may be from the present: a copy that is sent later is refused."""
MAX_KB = 16
_TIMESTAMP = re.compile(r"[0-9]{1,12}")
Subject = compliance.ProviderUser | compliance.ProviderAccount | compliance.ProviderOrder
_SUBJECTS: Mapping[str, Callable[[Any], Subject]] = {
    "user": compliance.user_of,
    "bank_account": compliance.account_of,
    "order": compliance.order_of,
}


def check_event(services: Services, headers: Mapping[str, str], raw_body: bytes) -> Subject:
    """What the event of a request is about. Names of `headers` are in lower case.

    The signature is checked before anything else of the body. Raises Unauthorized (unsigned, forged, or too old),
    PayloadTooLarge, BadRequest (not an event), Forbidden (of another account).
    """
    _check_signature(services, headers, raw_body)
    if len(raw_body) > MAX_KB * 1024:
        raise PayloadTooLarge(f"The event is larger than {MAX_KB} kB")
    try:
        event = compliance.object_of(raw_body)
        subject, account = _SUBJECTS[event["kind"]](event["data"]), event["account"]
        _check_status(subject)
        compliance.text_of(event, "id")
    except (LookupError, TypeError, compliance.ProviderUnavailable):
        raise BadRequest("The event is not in the documented form") from None
    if account != services.settings.compliance_account:
        raise Forbidden("The event is of another account")
    return subject


def _check_signature(services: Services, headers: Mapping[str, str], raw_body: bytes) -> None:
    secret = services.secrets.compliance_webhook_secret
    timestamp = headers.get("x-provider-timestamp", "")
    if not secret or not _TIMESTAMP.fullmatch(timestamp):
        raise Unauthorized("Invalid signature")
    expected = signature(secret, timestamp, raw_body)
    if not hmac.compare_digest(expected.encode(), headers.get("x-provider-signature", "").encode()):
        raise Unauthorized("Invalid signature")
    if abs(services.clock().timestamp() - int(timestamp)) > TOLERANCE.total_seconds():
        raise Unauthorized("The event is too old: sign it anew")


def _check_status(subject: Subject) -> None:
    """Raises ProviderUnavailable for a status that is not documented. Those of orders are checked where they count."""
    if isinstance(subject, compliance.ProviderUser):
        report_of(subject)
    elif isinstance(subject, compliance.ProviderAccount):
        account_report_of(subject)


def signature(secret: str, timestamp: str, raw_body: bytes) -> str:
    """The signature of a body that is sent at a time."""
    return hmac.new(secret.encode(), f"{timestamp}.".encode() + raw_body, hashlib.sha256).hexdigest()
