"""Records which AWS actions each function makes, as IAM names them, to compare them with its policy (infra/iam.py).

`record_to(folder)` adds a handler of botocore's events to every client that is made from then on in this process. A
call belongs to the function whose job or whose HTTP edge is on the stack of its thread; other calls, such as those that
prepare a test, are not recorded. Each process writes every combination once, to a file of its own. The local stack's
service records if RECORD_AWS_CALLS names a folder.
"""

import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import botocore.handlers

from infra import APP
from infra.iam import ACCESS

VARIABLE = "RECORD_AWS_CALLS"
_PREFIX = f"{APP}-local-"
_IAM_NAMES = {"sesv2": "ses"}
"""What IAM calls a service, where botocore calls it otherwise."""
FLOWS = {
    ("payments/links/expiry.py", "expire_due"): "expire_links",
    ("payments/scanning/flows.py", "scan"): "scan_chain",
    ("payments/recording/flows.py", "record_payable"): "record_transfers",
    ("payments/recording/reconciliation.py", "reconcile"): "record_transfers",
    ("payments/recording/flows.py", "queue_overdue"): "sweep_transfers",
    ("payments/archive/flows.py", "archive_due"): "archive_paid",
    ("payments/announcements/tracking.py", "track_due"): "track_announced",
    ("crosschain/service/payment_intents/running.py", "run_due"): "run_payment_intents",
    ("gasless/running.py", "run_due"): "run_gasless",
    ("crosschain/service/payment_intents/running.py", "follow_payment_intent"): "follow_payment_intent",
    ("commerce/service/due_payments.py", "run_due"): "run_commerce",
    ("offramp/service/checking.py", "check_due"): "check_offramps",
    ("offramp/payers/checking.py", "check_due"): "check_payers",
    ("accounts/domains/jobs.py", "check_due"): "check_domains",
    ("recurring/running.py", "start_due"): "run_recurring",
    ("recurring/running.py", "run_payments"): "execute_recurring",
    ("recurring/running.py", "repeat_requests"): "execute_recurring",
    ("relayer/tracking.py", "track"): "follow_relayed",
    ("webhooks/publisher.py", "publish_events"): "announce_events",
    ("webhooks/publisher.py", "sweep"): "sweep_outbox",
    ("webhooks/deliveries/waiting.py", "tend"): "retry_webhook",
    ("mail/flows.py", "send"): "send_mail",
    ("mail/flows.py", "note"): "note_mail",
    ("mail/flows.py", "sweep"): "sweep_mails",
    ("mail/changes.py", "tell"): "tell_changes",
    ("accounts/changes/applying.py", "run_due"): "apply_changes",
}
"""What jobs call, and tests call directly: file in chalicelib and name of each flow, and the function that runs it."""

_SANDBOX, _RUNNER = "sandbox/flows.py", "_pytest"
_API = "api_handler"


class Call(NamedTuple):
    """`resource` is without the prefix of the stage: `payments`, `payments/index/by_due`, `recordings`, `rpc-urls`.

    Of a key it is `secrets` and what for (`owner` of the encryption context), or `relayer`.
    """

    function: str
    action: str
    resource: str


class _Recorder:
    def __init__(self, folder: Path) -> None:
        self._file = folder / f"{os.getpid()}.txt"
        self._found: set[Call] = set()

    def before_call(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        self.add_all(model.service_model.service_name, model.name, params)

    def add_all(self, service: str, operation: str, params: dict[str, Any]) -> None:
        function = _function()
        if function is not None:
            for action, resource in actions(service, operation, params):
                self.add(Call(function, action, resource))

    def add(self, call: Call) -> None:
        if call not in self._found:
            self._found.add(call)
            with self._file.open("a") as file:
                file.write("\t".join(call) + "\n")


_recorders: list[_Recorder] = []


def record_to(folder: Path) -> None:
    """Records what this process does from now on."""
    recorder = _Recorder(folder)
    _recorders.append(recorder)
    botocore.handlers.BUILTIN_HANDLERS.append(("provide-client-params", recorder.before_call))


def record_call(action: str, resource: str) -> None:
    """For a fake that stands in for an AWS client: records the call that the client would have made."""
    function = _function() if _recorders else None
    if function is not None:
        for recorder in _recorders:
            recorder.add(Call(function, action, resource))


def client_stood_in(service: str, operation: str, params: dict[str, Any]) -> None:
    """As `record_call`, with the parameters of the call, which name its resources."""
    for recorder in _recorders:
        recorder.add_all(service, operation, params)


def read_calls(folder: Path) -> set[Call]:
    """What all processes wrote to the folder."""
    lines = [line for file in folder.glob("*.txt") for line in file.read_text().splitlines()]
    return {Call(*line.split("\t")) for line in lines}


def actions(service: str, operation: str, params: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The IAM actions that one call needs, each with its resource: those of the stage's resources."""
    for action, resource in _iterate_names(service, operation, params):
        if resource.startswith(_PREFIX):
            yield f"{_IAM_NAMES.get(service, service)}:{action}", resource.removeprefix(_PREFIX)


def _iterate_names(service: str, operation: str, params: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The same with the whole names. DynamoDB requires the action of each item in a transaction, SQS that of one
    message for a batch."""
    match service, params:
        case "dynamodb", {"TransactItems": items}:
            for item in items:
                ((kind, each),) = item.items()
                yield f"{kind}Item", each["TableName"]
        case "dynamodb", {"RequestItems": tables}:
            yield from ((operation, table) for table in tables)
        case "dynamodb", {"TableName": table, "IndexName": index}:
            yield operation, f"{table}/index/{index}"
        case "dynamodb", {"TableName": table}:
            yield operation, table
        case "s3", {"Bucket": bucket}:
            is_own = bucket.startswith(f"{_PREFIX}archive-")  # its name ends with account and region
            yield "ListBucket" if operation == "ListObjectsV2" else operation, f"{_PREFIX}archive" if is_own else bucket
        case "sqs", {"QueueName": name}:
            yield operation, name
        case "sqs", {"QueueUrl": url}:
            yield operation.removesuffix("Batch"), url.rpartition("/")[2]
        case "secretsmanager", {"SecretId": name}:
            yield operation, name
        case "sesv2", {"ConfigurationSetName": name}:
            yield operation, name
        case "kms", {"KeyId": key, **others}:
            owner = others.get("EncryptionContext", {}).get("owner")
            yield operation, key.removeprefix("alias/") + (f" {owner}" if owner else "")


def _function() -> str | None:
    """The function whose job, flow or HTTP edge is the innermost one on this thread's stack; the API where an operation
    on a sandbox does what jobs do.

    None if code of tests is in between: a test that has something else happen in the middle of a job.
    """
    frame: FrameType | None = sys._getframe(2)
    in_service, function = False, None
    while frame is not None and (path := _place(frame.f_code.co_filename)) != _RUNNER:
        if path:
            function = function or _function_of(path, frame.f_code.co_name)
            if path == _SANDBOX or function == _API:
                return _API
            in_service = True
        elif in_service and path is None:
            return function
        frame = frame.f_back
    return function


@cache
def _place(file: str) -> str | None:
    """The path in chalicelib, None for a file of the tests, _RUNNER for one of what runs them, "" for any other."""
    _, inside, path = file.rpartition("/chalicelib/")
    if inside:
        return path
    return None if "/tests/" in file else _RUNNER if "/_pytest/" in file else ""


@cache
def _function_of(path: str, name: str) -> str | None:
    if path == "platform/http/pipeline.py":
        return _API
    return name if name in ACCESS and path.endswith("/jobs.py") else FLOWS.get((path, name))
