"""The map of entry points: HTTP, queue consumers, schedules. One line each; the rest is in chalicelib."""

import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from chalice import Chalice, Rate

from chalicelib.accounts.api_keys import routes as api_keys
from chalicelib.accounts.audit_log import routes as audit_log
from chalicelib.accounts.branding import routes as branding
from chalicelib.accounts.client_ids import routes as client_ids
from chalicelib.accounts.orchestrators import routes as orchestrators
from chalicelib.accounts.payees import routes as payees
from chalicelib.accounts.sign_in import routes as sign_in
from chalicelib.checkout import routes as checkout
from chalicelib.checkout.announced import routes as intents
from chalicelib.checkout.broadcasts import routes as broadcasts
from chalicelib.checkout.payouts import routes as paying_out
from chalicelib.checkout.requests import routes as paying
from chalicelib.commerce.service import routes as escrow
from chalicelib.crosschain.service.payment_intents import routes as permits
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
    intents,
    broadcasts,
    found_payments,
    paying,
    permits,
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

    @app.on_sqs_message(queue=settings.announcements_queue, batch_size=1, maximum_concurrency=20)
    def announce_events(event: Any) -> None:
        from chalicelib.webhooks import jobs

        for message in event:
            jobs.announce_events(services(), message.body)

    @app.on_sqs_message(
        queue=settings.webhooks_queue, batch_size=1, maximum_concurrency=settings.webhook_concurrency
    )
    def deliver_webhook(event: Any) -> None:
        from chalicelib.webhooks import jobs

        for message in event:
            jobs.deliver_webhook(services(), message.body)

    @app.on_sqs_message(
        queue=settings.webhook_retries_queue, batch_size=1, maximum_concurrency=settings.webhook_retry_concurrency
    )
    def retry_webhook(event: Any) -> None:
        from chalicelib.webhooks import jobs

        for message in event:
            jobs.retry_webhook(services(), message.body)

    @app.on_sqs_message(queue=settings.scans_queue, batch_size=1, maximum_concurrency=10)
    def scan_chain(event: Any) -> None:
        from chalicelib.payments.scanning import jobs

        for message in event:
            jobs.scan_chain(services(), message.body)

    @app.on_sqs_message(queue=settings.recordings_queue, batch_size=1, maximum_concurrency=20)
    def record_transfers(event: Any) -> None:
        from chalicelib.payments.recording import jobs

        for message in event:
            jobs.record_transfers(services(), message.body)

    @app.on_sqs_message(queue=settings.relayed_queue, batch_size=1, maximum_concurrency=10)
    def follow_relayed(event: Any) -> None:
        from chalicelib.relayer import jobs

        for message in event:
            jobs.follow_relayed(services(), message.body)

    @app.on_sqs_message(queue=settings.payment_intents_queue, batch_size=1, maximum_concurrency=10)
    def follow_payment_intent(event: Any) -> None:
        from chalicelib.crosschain.service.payment_intents import jobs

        for message in event:
            jobs.follow_payment_intent(services(), message.body)

    @app.on_sqs_message(queue=settings.recurring_queue, batch_size=1, maximum_concurrency=10)
    def execute_recurring(event: Any) -> None:
        from chalicelib.recurring import jobs

        for message in event:
            jobs.execute_recurring(services(), message.body)

    @app.schedule(Rate(1, unit=Rate.MINUTES))
    def start_scans(event: Any) -> None:
        from chalicelib.payments.scanning import jobs

        jobs.start_scans(services())

    @app.schedule(Rate(1, unit=Rate.MINUTES))
    def sweep_transfers(event: Any) -> None:
        from chalicelib.payments.recording import jobs

        jobs.sweep_transfers(services())

    @app.schedule(Rate(1, unit=Rate.MINUTES))
    def sweep_outbox(event: Any) -> None:
        from chalicelib.webhooks import jobs

        jobs.sweep_outbox(services())

    @app.schedule(Rate(1, unit=Rate.MINUTES))
    def expire_links(event: Any) -> None:
        from chalicelib.payments.links import jobs

        jobs.expire_links(services())

    @app.schedule(Rate(1, unit=Rate.MINUTES))
    def track_intents(event: Any) -> None:
        from chalicelib.checkout.announced import jobs

        jobs.track_intents(services())

    @app.schedule(Rate(1, unit=Rate.MINUTES))
    def run_permits(event: Any) -> None:
        from chalicelib.crosschain.service.payment_intents import jobs

        jobs.run_permits(services())

    @app.schedule(Rate(1, unit=Rate.MINUTES))
    def check_offramps(event: Any) -> None:
        from chalicelib.offramp.service import jobs

        jobs.check_offramps(services())

    @app.schedule(Rate(1, unit=Rate.MINUTES))
    def run_commerce(event: Any) -> None:
        from chalicelib.commerce.service import jobs

        jobs.run_commerce(services())

    @app.schedule(Rate(1, unit=Rate.MINUTES))
    def run_recurring(event: Any) -> None:
        from chalicelib.recurring import jobs

        jobs.run_recurring(services())

    @app.schedule(Rate(1, unit=Rate.MINUTES))
    def track_relayed(event: Any) -> None:
        from chalicelib.relayer import jobs

        jobs.track_relayed(services())

    @app.schedule(Rate(5, unit=Rate.MINUTES))
    def check_payers(event: Any) -> None:
        from chalicelib.offramp.payers import jobs

        jobs.check_payers(services())

    return app


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

# Lambda finds a handler by its name in this module.
announce_events = app.handler_map["announce_events"]
deliver_webhook = app.handler_map["deliver_webhook"]
retry_webhook = app.handler_map["retry_webhook"]
scan_chain = app.handler_map["scan_chain"]
record_transfers = app.handler_map["record_transfers"]
execute_recurring = app.handler_map["execute_recurring"]
follow_relayed = app.handler_map["follow_relayed"]
follow_payment_intent = app.handler_map["follow_payment_intent"]
start_scans = app.handler_map["start_scans"]
sweep_transfers = app.handler_map["sweep_transfers"]
sweep_outbox = app.handler_map["sweep_outbox"]
expire_links = app.handler_map["expire_links"]
track_intents = app.handler_map["track_intents"]
run_permits = app.handler_map["run_permits"]
check_offramps = app.handler_map["check_offramps"]
run_commerce = app.handler_map["run_commerce"]
run_recurring = app.handler_map["run_recurring"]
track_relayed = app.handler_map["track_relayed"]
check_payers = app.handler_map["check_payers"]

if "AWS_CHALICE_CLI_MODE" in os.environ:  # set by the chalice command, and by nothing in Lambda
    with suppress(ModuleNotFoundError):  # a build has no infra: `make deploy` has done what this does
        from infra.record import before_chalice

        before_chalice()
