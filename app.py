"""The map of entry points: the routes of the products, queue consumers, schedules. The rest is in chalicelib.

A new consumer or schedule needs a line here, its permissions in infra/iam.py, a line in .chalice/config.json, and what
its crashes mean in infra/alarms.py; its queue a line in infra/resources.py. Tests name what is missing.
"""

import gc

gc.set_threshold(50_000, 20, 100)
# Before the imports: what they make lives as long as the process, and to look through it for garbage after every 700
# objects, as Python does by default, takes an eighth of a cold start.

import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from chalice import Chalice, Rate

from chalicelib.accounts import routes as accounts_routes
from chalicelib.agents import routes as agents_routes
from chalicelib.books import routes as books_routes
from chalicelib.checkout import routes as checkout_routes
from chalicelib.commerce import routes as commerce_routes
from chalicelib.crosschain import routes as crosschain_routes
from chalicelib.gasless import routes as gasless_routes
from chalicelib.offramp import routes as offramp_routes
from chalicelib.pages import routes as pages_routes
from chalicelib.payments import routes as payments_routes
from chalicelib.platform import routes as platform_routes
from chalicelib.platform.http.routing import register_routes
from chalicelib.platform.setting_readers import MOST_MAXIMUM
from chalicelib.platform.settings import Settings
from chalicelib.recurring import routes as recurring_routes
from chalicelib.sandbox import routes as sandbox_routes
from chalicelib.webhooks import routes as webhooks_routes

if TYPE_CHECKING:
    from chalicelib.platform.services import Services

ROUTES = (
    payments_routes,
    books_routes,
    checkout_routes,
    crosschain_routes,
    gasless_routes,
    recurring_routes,
    commerce_routes,
    offramp_routes,
    sandbox_routes,
    webhooks_routes,
    accounts_routes,
    pages_routes,
    agents_routes,
    platform_routes,
)

_CROSSCHAIN = "crosschain.service.payment_intents"


class Consumer(NamedTuple):
    """A function for the messages of one queue, which calls `work` with each.

    At most `concurrency` run at once, or as many as Lambda runs of one queue if that is more than a maximum can be.
    """

    name: str
    queue: str
    work: str
    concurrency: int


class Schedule(NamedTuple):
    """A function that runs every so many minutes. It calls `work`, and logs `done` with how many that says it did."""

    name: str
    minutes: int
    work: str
    done: str = ""


def consumers(settings: Settings) -> tuple[Consumer, ...]:
    """The consumers of all queues."""
    queue = settings.queue
    first, retries = settings.webhook_concurrency, settings.webhook_retry_concurrency
    recordings, announcements = settings.recording_concurrency, settings.announcement_concurrency
    return (
        Consumer("announce_events", queue("announcements"), "webhooks.jobs.publish_events", announcements),
        Consumer("deliver_webhook", queue("webhooks"), "webhooks.jobs.deliver_webhook", first),
        Consumer("retry_webhook", queue("webhook-retries"), "webhooks.jobs.retry_webhook", retries),
        Consumer("scan_chain", queue("scans"), "payments.scanning.jobs.scan_chain", 10),
        Consumer("record_transfers", queue("recordings"), "payments.recording.jobs.record_transfers", recordings),
        Consumer("follow_relayed", queue("relayed"), "relayer.jobs.follow_relayed", 10),
        Consumer("follow_payment_intent", queue("payment-intents"), f"{_CROSSCHAIN}.running.follow_payment_intent", 10),
        Consumer("execute_recurring", queue("recurring"), "recurring.running.execute_recurring", 10),
        Consumer("send_mail", queue("mails"), "mail.flows.send_mail", 5),
        Consumer("note_mail", queue("mail-news"), "mail.flows.note", 2),
    )


SCHEDULES = (
    Schedule("start_scans", 1, "payments.scanning.jobs.start_scans"),
    Schedule("sweep_transfers", 1, "payments.recording.jobs.sweep_transfers"),
    Schedule("sweep_outbox", 1, "webhooks.jobs.sweep_outbox"),
    Schedule("expire_links", 1, "payments.links.expiry.expire_due", "links expired"),
    Schedule("track_announced", 1, "payments.announcements.tracking.track_due", "announced transactions ended"),
    Schedule("run_payment_intents", 1, f"{_CROSSCHAIN}.running.run_due", "payment intents looked at"),
    Schedule("run_gasless", 1, "gasless.running.run_due", "gasless payments looked at"),
    Schedule("check_offramps", 1, "offramp.service.checking.check_due", "off-ramp orders checked"),
    Schedule("run_commerce", 1, "commerce.service.due_payments.run_due", "commerce payments looked at"),
    Schedule("run_recurring", 1, "recurring.running.start_due", "recurring queued"),
    Schedule("track_relayed", 1, "relayer.jobs.track_relayed"),
    Schedule("archive_paid", 5, "payments.archive.flows.archive_due", "payables archived"),
    Schedule("tell_changes", 1, "mail.changes.tell", "mails of changes written"),
    Schedule("apply_changes", 1, "accounts.changes.applying.run_due", "changes decided"),
    Schedule("sweep_mails", 1, "mail.flows.sweep", "mails swept"),
    Schedule("check_payers", 5, "offramp.payers.checking.check_due", "payers checked"),
    Schedule("check_domains", 5, "accounts.domains.jobs.check_due", "domains checked"),
)


class _Service(Chalice):
    """The app as API Gateway calls it, and a deployment, which asks what it can use (platform/checking.py)."""

    services: Callable[[], "Services"]

    def __call__(self, event: Any, context: Any) -> Any:
        return check_function(self.services, event) if "check" in event else super().__call__(event, context)


def build(settings: Settings, services: Callable[[], "Services"]) -> Chalice:
    """The app. Its handlers call `load_services` at every event, and import what they run at the first one."""
    # The Logger of services is the only one. Chalice would write its name into the environment, once more for each app.
    app = _Service(app_name="payment-requests", configure_logs=False, env={})
    app.services = services
    register_routes(app, ROUTES, services)

    @app.middleware("all")
    def write_metrics(event: Any, respond: Callable[[Any], Any]) -> Any:
        try:
            return respond(event)
        finally:
            services().metrics.flush()

    for each in consumers(settings):
        most = each.concurrency if each.concurrency <= MOST_MAXIMUM else None
        queue: dict[str, Any] = {"queue": each.queue, "batch_size": 1, "maximum_concurrency": most}
        app.on_sqs_message(**queue)(_consume(each, services))
    for schedule in SCHEDULES:
        app.schedule(Rate(schedule.minutes, unit=Rate.MINUTES))(_run(schedule, services))
    return app


def check_function(services: Callable[[], "Services"], event: Any) -> Any:
    from chalicelib.platform import checking

    found = checking.check(services(), event["check"])
    return {**found, "networks": checking.check_networks(services())} if event["check"].get("networks") else found


def import_work(work: str) -> Callable[..., Any]:
    """The function of chalicelib that is called by this path."""
    module, _, name = work.rpartition(".")
    function: Callable[..., Any] = getattr(import_module(f"chalicelib.{module}"), name)
    return function


def _consume(consumer: Consumer, services: Callable[[], "Services"]) -> Callable[[Any], Any]:
    def handle(event: Any) -> Any:
        from chalicelib.platform.storage.queue import continue_chain

        work = import_work(consumer.work)
        if "check" in event.to_dict():
            return check_function(services, event.to_dict())
        for message in event:
            with continue_chain(message.body):
                work(_services_for(services(), message.body), message.body)
        return None

    handle.__name__ = consumer.name  # by which Chalice and Lambda know it
    return handle


def _services_for(services: "Services", body: str) -> "Services":
    """Those that a message is handled with: of the sandbox that it names, or the live ones."""
    if '"sandbox"' not in body:
        return services
    from chalicelib.sandbox.opening import services_for  # few messages are of test mode

    return services_for(services, body)


def _run(schedule: Schedule, services: Callable[[], "Services"]) -> Callable[[Any], Any]:
    def handle(event: Any) -> Any:
        work = import_work(schedule.work)
        if "check" in event.to_dict():
            return check_function(services, event.to_dict())
        count = work(services())
        if count:
            services().log.info(schedule.done, extra={"count": count})
        return None

    handle.__name__ = schedule.name
    return handle


@cache
def load_services() -> "Services":
    """The services of this process, assembled by its first call."""
    from chalicelib.platform.metrics import COLD_STARTS
    from chalicelib.platform.services import assemble

    assembled = assemble(_SETTINGS)
    if function := os.environ.get("AWS_LAMBDA_FUNCTION_NAME"):
        assembled.metrics.add(COLD_STARTS, function)
    return assembled


_SETTINGS = Settings.read()
app = build(_SETTINGS, load_services)

globals().update(app.handler_map)  # Lambda finds a handler by its name in this module

if "AWS_CHALICE_CLI_MODE" in os.environ:  # set by the chalice command, and by nothing in Lambda
    with suppress(ModuleNotFoundError):  # a build has no infra: `make deploy` has done what this does
        from infra.record import before_chalice

        before_chalice()
