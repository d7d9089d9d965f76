"""SQS queues. A message names a record to process and never holds the record's data."""

import json
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from chalicelib.base.frozen import frozen
from chalicelib.platform.storage.clients import aws_client

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger

MAX_BATCH = 10


@frozen
class Message:
    """SQS delivers the messages of a busy queue fairly between the values of `group`. `delay` is in seconds."""

    body: dict[str, Any]
    group: str
    delay: int = 0


class Queue:
    def __init__(self, client: Any = None) -> None:
        self._urls: dict[str, str] = {}
        if client is not None:
            self.client = client

    @cached_property
    def client(self) -> Any:
        return aws_client("sqs")

    def send(self, queue: str, messages: Sequence[Message]) -> None:
        """Sends messages, ten per SQS call. Raises RuntimeError if the queue refuses one."""
        for start in range(0, len(messages), MAX_BATCH):
            entries = [
                {
                    "Id": str(index),
                    "MessageBody": json.dumps(message.body),
                    "DelaySeconds": message.delay,
                    "MessageGroupId": message.group,
                }
                for index, message in enumerate(messages[start : start + MAX_BATCH])
            ]
            response = self.client.send_message_batch(QueueUrl=self._url(queue), Entries=entries)
            if failed := response.get("Failed"):
                raise RuntimeError(f"{queue} refused {len(failed)} messages: {failed[0]['Code']}")

    def _url(self, queue: str) -> str:
        if queue not in self._urls:
            self._urls[queue] = self.client.get_queue_url(QueueName=queue)["QueueUrl"]
        return self._urls[queue]


def send_hints(queue: Queue, log: "Logger", name: str, messages: Sequence[Message]) -> None:
    """Sends messages about records that a sweep finds as well, so a failure is only logged."""
    try:
        queue.send(name, messages)
    except Exception:  # whatever it is, it must not undo what was written before
        log.exception("messages were not sent", extra={"queue": name, "count": len(messages)})
