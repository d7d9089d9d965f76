"""The map of entry points: HTTP, queue consumers, schedules. One line each; the rest is in chalicelib."""

from typing import Any

from chalice import Chalice, Rate

from chalicelib.api import (
    api_keys,
    audit,
    auth,
    branding,
    checkout,
    client_ids,
    currencies,
    fee_plans,
    intents,
    multicall_payouts,
    orchestrators,
    pages,
    payee_destinations,
    payouts,
    secure_payments,
    service,
    transfers,
    tron_broadcast,
    webhooks,
)
from chalicelib.api.edge import complete_routes
from chalicelib.jobs import deliver_webhook as deliver_webhook_job
from chalicelib.jobs import expire_links as expire_links_job
from chalicelib.jobs import scan_chain as scan_chain_job
from chalicelib.jobs import start_scans as start_scans_job
from chalicelib.jobs import sweep_outbox as sweep_outbox_job
from chalicelib.jobs import track_intents as track_intents_job
from chalicelib.services import assembled
from chalicelib.settings import settings

app = Chalice(app_name="payment-requests", configure_logs=False)  # the Logger of services is the only one

for resource in (
    currencies,
    multicall_payouts,
    secure_payments,
    payouts,
    fee_plans,
    checkout,
    intents,
    transfers,
    tron_broadcast,
    webhooks,
    auth,
    api_keys,
    client_ids,
    branding,
    audit,
    payee_destinations,
    orchestrators,
    pages,
    service,
):
    app.register_blueprint(resource.blueprint)
complete_routes(app)


@app.on_sqs_message(queue=settings().webhooks_queue, batch_size=1, maximum_concurrency=20)
def deliver_webhook(event: Any) -> None:
    for message in event:
        deliver_webhook_job.run(assembled(), message.body)


@app.on_sqs_message(queue=settings().scans_queue, batch_size=1, maximum_concurrency=10)
def scan_chain(event: Any) -> None:
    for message in event:
        scan_chain_job.run(assembled(), message.body)


@app.schedule(Rate(1, unit=Rate.MINUTES))
def start_scans(event: Any) -> None:
    start_scans_job.run(assembled())


@app.schedule(Rate(1, unit=Rate.MINUTES))
def sweep_outbox(event: Any) -> None:
    sweep_outbox_job.run(assembled())


@app.schedule(Rate(1, unit=Rate.MINUTES))
def expire_links(event: Any) -> None:
    expire_links_job.run(assembled())


@app.schedule(Rate(1, unit=Rate.MINUTES))
def track_intents(event: Any) -> None:
    track_intents_job.run(assembled())
