"""Local event sources: calls the app's queue consumers with messages of SQS, and its schedules by timers."""

import re
import threading
import time
import traceback
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from chalice import Chalice
from chalice.app import ScheduledEventConfig, SQSEventConfig
from chalice.local import LambdaContext

REGION = "us-east-1"
_SECONDS = {"minute": 60, "hour": 3600, "day": 86400}
_DEFAULT_CONCURRENCY = 2
_RECEIVE_SECONDS = 1
_LAMBDA_MILLISECONDS = 60_000


class Consumer:
    """The consumer of one queue. Like Lambda's poller, it receives only as many messages as free workers can handle.

    A message is deleted when its handler returns, unless it is in `batchItemFailures`. Otherwise, and if the handler
    raises, SQS delivers it again after the queue's visibility timeout.
    """

    def __init__(self, app: Chalice, source: SQSEventConfig, sqs: Any) -> None:
        self._handler, self._name = app.handler_map[source.name], source.name
        self._sqs, self._batch = sqs, source.batch_size
        queue = source.queue or str(source.queue_arn).rsplit(":", 1)[-1]
        self._url = sqs.get_queue_url(QueueName=queue)["QueueUrl"]
        self._arn = f"arn:aws:sqs:{REGION}:000000000000:{queue}"
        workers = source.maximum_concurrency or _DEFAULT_CONCURRENCY
        self._free = threading.Semaphore(workers)
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix=source.name)

    def run(self, stop: threading.Event) -> None:
        """Consumes until `stop` is set, then waits for the running handlers."""
        while not stop.is_set():
            if self._free.acquire(timeout=_RECEIVE_SECONDS):
                slots = 1
                while slots * self._batch < 10 and self._free.acquire(blocking=False):
                    slots += 1
                batches = self._receive(stop, slots)
                for batch in batches:
                    self._pool.submit(self._handle, batch)
                for _ in range(slots - len(batches)):
                    self._free.release()
        self._pool.shutdown(wait=True)

    def _receive(self, stop: threading.Event, slots: int) -> list[list[dict[str, Any]]]:
        try:
            response = self._sqs.receive_message(
                QueueUrl=self._url,
                MaxNumberOfMessages=min(slots * self._batch, 10),
                WaitTimeSeconds=_RECEIVE_SECONDS,
                AttributeNames=["All"],
                MessageAttributeNames=["All"],
            )
        except (BotoCoreError, ClientError):
            if not stop.wait(1):
                traceback.print_exc(limit=1)
            return []
        messages = response.get("Messages", [])
        return [messages[start : start + self._batch] for start in range(0, len(messages), self._batch)]

    def _handle(self, messages: list[dict[str, Any]]) -> None:
        try:
            event = {"Records": [self._record(message) for message in messages]}
            result = self._handler(event, LambdaContext(self._name, 512, _LAMBDA_MILLISECONDS))
            failures = result.get("batchItemFailures", []) if isinstance(result, dict) else []
            failed = {failure["itemIdentifier"] for failure in failures}
            for message in messages:
                if message["MessageId"] not in failed:
                    self._sqs.delete_message(QueueUrl=self._url, ReceiptHandle=message["ReceiptHandle"])
        except Exception:  # noqa: BLE001 - any crash of the Lambda; SQS delivers the messages again
            traceback.print_exc()
        finally:
            self._free.release()

    def _record(self, message: dict[str, Any]) -> dict[str, Any]:
        attributes = {
            name: {"stringValue": value.get("StringValue"), "dataType": value["DataType"]}
            for name, value in message.get("MessageAttributes", {}).items()
        }
        return {
            "messageId": message["MessageId"],
            "receiptHandle": message["ReceiptHandle"],
            "body": message["Body"],
            "attributes": message.get("Attributes", {}),
            "messageAttributes": attributes,
            "md5OfBody": message["MD5OfBody"],
            "eventSource": "aws:sqs",
            "eventSourceARN": self._arn,
            "awsRegion": REGION,
        }


class Timer:
    """One schedule: fires when started, then at its rate; runs never overlap."""

    def __init__(self, app: Chalice, source: ScheduledEventConfig) -> None:
        self._handler, self._name = app.handler_map[source.name], source.name
        expression = source.schedule_expression
        text = expression if isinstance(expression, str) else expression.to_string()
        rate = re.fullmatch(r"rate\((\d+) (minute|hour|day)s?\)", text)
        if rate is None:
            raise ValueError(f"{source.name}: only rate(...) schedules run locally, not {text}")
        self._every = int(rate[1]) * _SECONDS[rate[2]]

    def run(self, stop: threading.Event) -> None:
        due = time.monotonic()
        while not stop.is_set():
            self._fire()
            due = max(due + self._every, time.monotonic())
            stop.wait(due - time.monotonic())

    def _fire(self) -> None:
        event = {
            "version": "0",
            "id": str(uuid.uuid4()),
            "detail-type": "Scheduled Event",
            "source": "aws.events",
            "account": "000000000000",
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "region": REGION,
            "resources": [f"arn:aws:events:{REGION}:000000000000:rule/{self._name}"],
            "detail": {},
        }
        try:
            self._handler(event, LambdaContext(self._name, 512, _LAMBDA_MILLISECONDS))
        except Exception:  # noqa: BLE001 - any crash of the Lambda; the schedule continues
            traceback.print_exc()
