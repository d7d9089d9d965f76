"""Limits and lifetimes, each typed from the document that promises it: one digit changed in the code fails.

Only those are here that the tests of the rule itself do not notice, as they import the constant and count up to it. The
tiers of callers, retry delays, sessions, challenges, passwords, texts of 255 characters, bodies of 256 kB, batches of 200
and keys of repeated requests are noticed by the tests beside them.
"""

import os
from dataclasses import fields
from datetime import timedelta

import pytest

from chalicelib.accounts.branding.images import MAX_SIDE
from chalicelib.accounts.credentials.flows import MAX_CREDENTIALS
from chalicelib.base.email_addresses import MAX_LENGTH as MAX_EMAIL_LENGTH
from chalicelib.chains.calldata.checkout import MAX_FEE_LIMIT
from chalicelib.payments.announcements.rules import UNREAD_GRACE
from chalicelib.payments.recording.matching import MAX_PAYMENTS, MAX_SMALL_PAYMENTS, SMALL_PART
from chalicelib.payments.recording.unmatched import MAX_PER_KIND, UnmatchedKind
from chalicelib.payments.transfers.flows import MAX_LISTED, MAX_REFUNDS
from chalicelib.platform.access.audit.records import AUDIT_RETENTION
from chalicelib.platform.access.rate_limits.rules import FAILURES, FAILURES_PER_DAY
from chalicelib.platform.outbound.sender import ANSWER_BYTES, ANSWER_SECONDS, DEADLINE_SECONDS
from chalicelib.platform.settings import FEWEST_CHILDREN, MOST_CHILDREN, InvalidSettings, Settings
from chalicelib.webhooks.circuits.rules import (
    DRAIN_FOR,
    DRAIN_PAUSE,
    FIRST_PROBE,
    LONGEST_PAUSE,
    OPEN_AFTER,
    OPEN_AFTER_DELIVERIES,
    PROBE_LEASE,
    SLOW_AFTER_DELIVERIES,
)
from chalicelib.webhooks.deliveries.reading import MOST_REPEATED
from chalicelib.webhooks.deliveries.rules import ATTEMPTS_KEPT, GIVE_UP, LEASE
from chalicelib.webhooks.endpoints.rules import MAX_ENDPOINTS
from chalicelib.webhooks.records import EVENT_RETENTION

DEFAULTS = {each.name: each.default for each in fields(Settings)}
DAY = 24 * 60 * 60
TRX = 10**6

OF_THE_INTERFACE = {
    "specification, Limits: a webhook's receiver has five seconds": (DEADLINE_SECONDS, 5.0),
    "specification, Limits: a link lives a week unless a deployment sets something else": (
        DEFAULTS["link_lifetime_seconds"],
        7 * DAY,
    ),
    "specification, Limits: a multicall has at least two children": (FEWEST_CHILDREN, 2),
    "specification, Limits: a multicall has at most a thousand children": (MOST_CHILDREN, 1000),
    "specification, Limits: a deployment allows 150 children unless it sets something else": (
        DEFAULTS["multicall_max_children"],
        150,
    ),
}
OF_OTHERS = {
    "RFC 5321, 4.5.3.1.3: a path has 256 octets, of which its angle brackets are two": (MAX_EMAIL_LENGTH, 254),
    "Tron's developer documentation, Feelimit: the network takes at most 15,000 TRX": (MAX_FEE_LIMIT, 15_000 * TRX),
}
# What no document of the interface fixes: chosen here, and promised to users in the README or beside the constant.
CHOSEN = {
    "a worker has 20 seconds for a webhook's attempt, which takes five": (LEASE, timedelta(seconds=20)),
    "a delivery that waits for its receiver is given up after a day": (GIVE_UP, timedelta(days=1)),
    "the newest eight attempts of a delivery are kept": (ATTEMPTS_KEPT, 8),
    "a kilobyte of a receiver's answer is kept, read for a second": ((ANSWER_BYTES, ANSWER_SECONDS), (1024, 1.0)),
    "attempts are moved to the slow lane with the second delivery": (SLOW_AFTER_DELIVERIES, 2),
    "a circuit opens with the fifth delivery": (OPEN_AFTER_DELIVERIES, 5),
    "a circuit opens after ten seconds of failures": (OPEN_AFTER, timedelta(seconds=10)),
    "the first probe comes after 15 seconds": (FIRST_PROBE, timedelta(seconds=15)),
    "a probe comes every 15 minutes": (LONGEST_PAUSE, timedelta(minutes=15)),
    "a probe has 20 seconds": (PROBE_LEASE, timedelta(seconds=20)),
    "waiting deliveries are looked for a minute after a circuit closed": (DRAIN_FOR, timedelta(minutes=1)),
    "they are released once a second": (DRAIN_PAUSE, timedelta(seconds=1)),
    "100 failed deliveries are sent again per call": (MOST_REPEATED, 100),
    "200 first attempts are made at the same time": (DEFAULTS["webhook_concurrency"], 200),
    "200 retries are made at the same time": (DEFAULTS["webhook_retry_concurrency"], 200),
    "a client id or account has 20 webhooks": (MAX_ENDPOINTS, 20),
    "a user's sign-ins may fail 30 times in a quarter of an hour from one address": (FAILURES, 30),
    "a user's sign-ins may fail a thousand times a day": (FAILURES_PER_DAY, 1000),
    "rate limits are not multiplied": (DEFAULTS["rate_limit_scale"], 1),
    "a multisig transaction is waited for a day unless a deployment sets something else": (
        DEFAULTS["safe_transaction_lifetime_seconds"],
        DAY,
    ),
    "an intent whose events cannot be read is kept an hour longer": (UNREAD_GRACE, timedelta(hours=1)),
    "a logo has at most 512 pixels a side": (MAX_SIDE, 512),
    "after 100 payments of a request those of less than a thousandth of its amount are only summed up": (
        (MAX_SMALL_PAYMENTS, SMALL_PART),
        (100, 1000),
    ),
    "2000 payments of a request are listed": (MAX_PAYMENTS, 2000),
    "unmatched transfers of each kind are kept up to these numbers": (
        MAX_PER_KIND,
        {UnmatchedKind.UNKNOWN_TOKEN: 20, UnmatchedKind.OTHER_PAYEE: 30, UnmatchedKind.RIGHT_PAYEE: 50},
    ),
    "a thousand unmatched transfers are listed": (MAX_LISTED, 1000),
    "49 refunds are prepared at once": (MAX_REFUNDS, 49),
    "an account has a thousand credentials of a kind": (MAX_CREDENTIALS, 1000),
    "events and deliveries are kept for 30 days": (EVENT_RETENTION, timedelta(days=30)),
    "the audit log is kept for 400 days": (AUDIT_RETENTION, timedelta(days=400)),
}
PROMISED = OF_THE_INTERFACE | OF_OTHERS | CHOSEN


@pytest.mark.parametrize("promise", PROMISED)
def test_a_limit_is_what_is_promised(promise: str) -> None:
    ours, promised = PROMISED[promise]
    assert ours == promised


def test_no_deployment_allows_less_than_two_children_or_more_than_a_thousand() -> None:
    for number in (2, 1000):
        assert Settings.read({**os.environ, "MULTICALL_MAX_CHILDREN": str(number)}).multicall_max_children == number
    for number in (1, 1001):
        with pytest.raises(InvalidSettings, match="MULTICALL_MAX_CHILDREN must be at least 2 and at most 1000"):
            Settings.read({**os.environ, "MULTICALL_MAX_CHILDREN": str(number)})
