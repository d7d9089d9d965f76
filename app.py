"""The map of entry points: HTTP, queue consumers, schedules. One line each; the rest is in chalicelib."""

from typing import Any

from chalice import Chalice, Rate

from chalicelib.accounts.api_keys import api as api_keys
from chalicelib.accounts.audit_log import api as audit
from chalicelib.accounts.branding import api as branding
from chalicelib.accounts.client_ids import api as client_ids
from chalicelib.accounts.orchestrators import api as orchestrators
from chalicelib.accounts.sign_in import api as auth
from chalicelib.checkout import api as checkout
from chalicelib.checkout.broadcasts import api as tron_broadcast
from chalicelib.checkout.intents import api as intents
from chalicelib.checkout.intents import jobs as intent_jobs
from chalicelib.currencies import api as currencies
from chalicelib.detection import jobs as detection_jobs
from chalicelib.http import api as service
from chalicelib.http.edge import complete_routes
from chalicelib.links import api as secure_payments
from chalicelib.links import jobs as link_jobs
from chalicelib.links.fees import api as fee_plans
from chalicelib.links.multicalls import api as multicall_payouts
from chalicelib.links.payouts import api as payouts
from chalicelib.pages import api as pages
from chalicelib.payees import api as payee_destinations
from chalicelib.services import assembled
from chalicelib.settings import settings
from chalicelib.transfers import api as transfers
from chalicelib.webhooks import api as webhooks
from chalicelib.webhooks import jobs as webhook_jobs

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
        webhook_jobs.deliver_webhook(assembled(), message.body)


@app.on_sqs_message(queue=settings().scans_queue, batch_size=1, maximum_concurrency=10)
def scan_chain(event: Any) -> None:
    for message in event:
        detection_jobs.scan_chain(assembled(), message.body)


@app.schedule(Rate(1, unit=Rate.MINUTES))
def start_scans(event: Any) -> None:
    detection_jobs.start_scans(assembled())


@app.schedule(Rate(1, unit=Rate.MINUTES))
def sweep_outbox(event: Any) -> None:
    webhook_jobs.sweep_outbox(assembled())


@app.schedule(Rate(1, unit=Rate.MINUTES))
def expire_links(event: Any) -> None:
    link_jobs.expire_links(assembled())


@app.schedule(Rate(1, unit=Rate.MINUTES))
def track_intents(event: Any) -> None:
    intent_jobs.track_intents(assembled())
