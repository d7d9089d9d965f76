"""The map of entry points: the routes of the rooms, queue consumers, schedules. The rest is in chalicelib.

A new consumer or schedule needs a line here, its permissions in infra/iam.py, a line in .chalice/config.json, and what
its crashes mean in infra/alarms.py; its queue a line in infra/resources.py. Tests name what is missing.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from chalice import Chalice, Rate

from chalicelib.accounts.api_keys import routes as api_keys
from chalicelib.accounts.audit_log import routes as audit_log
from chalicelib.accounts.branding import routes as branding
from chalicelib.accounts.client_ids import routes as client_ids
from chalicelib.accounts.orchestrators import routes as orchestrators
from chalicelib.accounts.payees import routes as payees
from chalicelib.accounts.sign_in import routes as sign_in
from chalicelib.checkout import routes as checkout
from chalicelib.checkout.announced import routes as announced
from chalicelib.checkout.broadcasts import routes as broadcasts
from chalicelib.checkout.payouts import routes as paying_out
from chalicelib.checkout.requests import routes as paying
from chalicelib.commerce.service import routes as escrow
from chalicelib.crosschain.service.payment_intents import routes as payment_intents
from chalicelib.offramp.payers import routes as payers
from chalicelib.offramp.service import routes as offramp
from chalicelib.pages import routes as pages
from chalicelib.payments.currencies import routes as currencies
from chalicelib.payments.links import routes as links
from chalicelib.payments.links.fees import routes as fees
from chalicelib.payments.links.multicalls import routes as multicalls
from chalicelib.payments.links.payouts import routes as payouts
from chalicelib.payments.requests import routes as requests
from chalicelib.payments.scanning import routes as scanning
from chalicelib.payments.search.payments import routes as found_payments
from chalicelib.payments.search.requests import routes as found_requests
from chalicelib.payments.transfers import routes as transfers
from chalicelib.platform.http import routes as service
from chalicelib.platform.http.routing import register_routes
from chalicelib.platform.settings import Settings
from chalicelib.recurring import routes as recurring
from chalicelib.webhooks.deliveries import routes as deliveries
from chalicelib.webhooks.endpoints import routes as webhooks

if TYPE_CHECKING:
    from chalicelib.platform.services import Services

ROOMS = (
    currencies,
    requests,
    found_requests,
    links,
    multicalls,
    payouts,
    fees,
    checkout,
    announced,
    broadcasts,
    found_payments,
    paying,
    payment_intents,
    paying_out,
    recurring,
    escrow,
    transfers,
    offramp,
    scanning,
    webhooks,
    deliveries,
    sign_in,
    api_keys,
    client_ids,
    branding,
    audit_log,
    payees,
    payers,
    orchestrators,
    pages,
    service,
)


class Consumer(NamedTuple):
    """A function for the messages of one queue: `jobs` of its package has what it calls under its own name. At
    most `concurrency` run at once."""

    name: str
    queue: str
    package: str
    concurrency: int


class Schedule(NamedTuple):
    """A function that runs every so many minutes: `jobs` of its package has what it calls under its own name."""

    name: str
    minutes: int
    package: str


def consumers(settings: Settings) -> tuple[Consumer, ...]:
    """The consumers of all queues."""
    payment_intents = "chalicelib.crosschain.service.payment_intents"
    first, retries = settings.webhook_concurrency, settings.webhook_retry_concurrency
    return (
        Consumer("announce_events", settings.announcements_queue, "chalicelib.webhooks", 20),
        Consumer("deliver_webhook", settings.webhooks_queue, "chalicelib.webhooks", first),
        Consumer("retry_webhook", settings.webhook_retries_queue, "chalicelib.webhooks", retries),
        Consumer("scan_chain", settings.scans_queue, "chalicelib.payments.scanning", 10),
        Consumer("record_transfers", settings.recordings_queue, "chalicelib.payments.recording", 20),
        Consumer("follow_relayed", settings.relayed_queue, "chalicelib.relayer", 10),
        Consumer("follow_payment_intent", settings.payment_intents_queue, payment_intents, 10),
        Consumer("execute_recurring", settings.recurring_queue, "chalicelib.recurring", 10),
    )


SCHEDULES = (
    Schedule("start_scans", 1, "chalicelib.payments.scanning"),
    Schedule("sweep_transfers", 1, "chalicelib.payments.recording"),
    Schedule("sweep_outbox", 1, "chalicelib.webhooks"),
    Schedule("expire_links", 1, "chalicelib.payments.links"),
    Schedule("track_announced", 1, "chalicelib.checkout.announced"),
    Schedule("run_payment_intents", 1, "chalicelib.crosschain.service.payment_intents"),
    Schedule("check_offramps", 1, "chalicelib.offramp.service"),
    Schedule("run_commerce", 1, "chalicelib.commerce.service"),
    Schedule("run_recurring", 1, "chalicelib.recurring"),
    Schedule("track_relayed", 1, "chalicelib.relayer"),
    Schedule("check_payers", 5, "chalicelib.offramp.payers"),
)


def build(settings: Settings, services: Callable[[], "Services"]) -> Chalice:
    """The app. Its handlers call `services` at every event, and import what they run at the first one."""
    app = Chalice(app_name="payment-requests", configure_logs=False)  # the Logger of services is the only one
    register_routes(app, ROOMS, services)

    @app.middleware("all")
    def write_metrics(event: Any, respond: Callable[[Any], Any]) -> Any:
        try:
            return respond(event)
        finally:
            services().metrics.flush()

    for each in consumers(settings):
        queue: dict[str, Any] = {"queue": each.queue, "batch_size": 1, "maximum_concurrency": each.concurrency}
        app.on_sqs_message(**queue)(_consume(each, services))
    for schedule in SCHEDULES:
        app.schedule(Rate(schedule.minutes, unit=Rate.MINUTES))(_run(schedule, services))
    return app


def _consume(consumer: Consumer, services: Callable[[], "Services"]) -> Callable[[Any], None]:
    def handle(event: Any) -> None:
        work = getattr(import_module(f"{consumer.package}.jobs"), consumer.name)
        for message in event:
            work(services(), message.body)

    handle.__name__ = consumer.name  # by which Chalice and Lambda know it
    return handle


def _run(schedule: Schedule, services: Callable[[], "Services"]) -> Callable[[Any], None]:
    def handle(_event: Any) -> None:
        getattr(import_module(f"{schedule.package}.jobs"), schedule.name)(services())

    handle.__name__ = schedule.name
    return handle


@cache
def services() -> "Services":
    """The services of this process, assembled by its first call."""
    from chalicelib.platform.metrics import COLD_STARTS
    from chalicelib.platform.services import assemble

    assembled = assemble(_SETTINGS)
    if function := os.environ.get("AWS_LAMBDA_FUNCTION_NAME"):
        assembled.metrics.add(COLD_STARTS, function)
    return assembled


_SETTINGS = Settings.read()
app = build(_SETTINGS, services)

globals().update(app.handler_map)  # Lambda finds a handler by its name in this module

if "AWS_CHALICE_CLI_MODE" in os.environ:  # set by the chalice command, and by nothing in Lambda
    with suppress(ModuleNotFoundError):  # a build has no infra: `make deploy` has done what this does
        from infra.record import before_chalice

        before_chalice()
