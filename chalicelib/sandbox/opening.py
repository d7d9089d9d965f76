"""Opens the sandbox of an account: the services with which everything is done in test mode, made here alone.

    Store       the same tables, in a namespace of the account (platform/storage/namespaces.py)
    Chains      virtual ones, of every network (nodes.py)
    clock       the real time, and what the account has advanced it by
    Queue       the same queues; each message names the sandbox, and its consumer opens it again (`services_for`)
    the rest    what encrypts and what sends webhooks is the same; there is no price source, router, compliance
                provider, Safe service, archive, sender of e-mails, nor a key that signs transactions
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cache

from aws_lambda_powertools import Logger

from chalicelib.chains.catalogue.networks import ALL_NETWORKS
from chalicelib.chains.nodes.safes.service import SafeService
from chalicelib.platform.http.operation import OPERATIONS, Operation
from chalicelib.platform.metrics import Metrics
from chalicelib.platform.outbound.compliance import Compliance
from chalicelib.platform.outbound.lifi import Lifi
from chalicelib.platform.outbound.prices import Prices
from chalicelib.platform.outbound.ses import Ses
from chalicelib.platform.services import Services
from chalicelib.platform.storage.namespaces import in_namespace
from chalicelib.platform.storage.objects import Objects
from chalicelib.platform.storage.queue import Message, Queue
from chalicelib.platform.storage.secrets import SigningKeys
from chalicelib.sandbox import rules, store
from chalicelib.sandbox.nodes import VirtualChains

KEPT = timedelta(days=90)
"""How long a record is kept after it was last written, by the real clock."""
_FIELD = "sandbox"
"""Of a message: the account and the seconds that its clock is ahead, separated by a space."""


class SandboxQueue(Queue):
    """Queues messages that name their sandbox. The names of queues in `kept_back` are queued in `kept` instead."""

    def __init__(self, queue: Queue, account_id: str, seconds_ahead: int, kept_back: str = "") -> None:
        self._queue, self._name = queue, f"{account_id} {seconds_ahead}"
        self._kept_back = kept_back
        self.kept: list[Message] = []

    def send(self, queue: str, messages: Sequence[Message]) -> None:
        if queue == self._kept_back:
            self.kept += messages
        else:
            self._queue.send(queue, [replace(each, body={**each.body, _FIELD: self._name}) for each in messages])


def open_for(services: Services, operation: Operation, account_id: str) -> Services:
    """The sandbox of an account for an operation. One read. Raises Conflict for what does not work in test mode.

    The live services for what calls operations, as `/mcp`: those open the sandbox.
    """
    if operation.calls_operations:
        return services
    rules.check_possible(OPERATIONS[operation], operation.executes)
    return open_sandbox(services, account_id)


def services_for(services: Services, body: str) -> Services:
    """The services that a message is handled with: those of the sandbox that it names, or the live ones. No read."""
    if f'"{_FIELD}"' not in body or (named := json.loads(body).get(_FIELD)) is None:
        return services
    account_id, _, seconds = named.rpartition(" ")
    return open_sandbox(services, account_id, int(seconds))


def open_sandbox(
    services: Services, account_id: str, seconds_ahead: int | None = None, *, keeps_back: str = ""
) -> Services:
    """The services of an account's sandbox, made of the live ones; one read unless it is known how far its clock is
    ahead. Messages for the queue `keeps_back` are not sent (SandboxQueue.kept)."""
    assert services.live is None, "a sandbox is made of the live services"
    records = in_namespace(services.store.apart, f"test/{account_id}/", lambda: services.clock() + KEPT)
    seconds = store.sandbox(records).seconds_ahead if seconds_ahead is None else seconds_ahead
    ahead = timedelta(seconds=seconds)
    settings = services.settings
    alone = {each.name: 0 for each in ALL_NETWORKS}
    return Services(
        settings=replace(settings, mail_sender="", relayer_keys={}, scan_waits=(), headers_every=alone),
        store=records,
        queue=SandboxQueue(services.queue, account_id, seconds, keeps_back),
        secrets=services.secrets,
        signing_keys=SigningKeys("", ""),
        archive=Objects(""),
        chains=VirtualChains(records, account_id, lambda: services.clock() + ahead),
        safes=SafeService({}),
        prices=Prices(""),
        compliance=Compliance(""),
        router=Lifi("", ""),
        sender=services.sender,
        destinations=services.destinations,
        txt_records=services.txt_records,
        ses=Ses("", "", ""),
        log=_log(settings.log_level),
        metrics=Metrics("test mode"),  # never written: they would be added to those of live payments
        clock=lambda: services.clock() + ahead,
        entropy=services.entropy,
        live=services,
    )


@cache
def _log(level: str) -> Logger:
    """A log of its own, as alarms count lines of the live one (platform/metrics.py)."""
    return Logger(service="payment-requests-test", level=level)
