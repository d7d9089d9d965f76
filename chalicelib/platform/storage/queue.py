"""SQS queues. A message names a record to process and never holds the record's data.

A consumer that sends messages to its own queue makes a chain of them, which AWS Lambda ends after about 16 invocations
of a function unless that is allowed for it (infra/recursion.py). Each message says by `hop` how long its chain is: at
MOST_HOPS it is not continued, and what is left is begun anew by a sweep.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from typing import TYPE_CHECKING, Any

from chalicelib.base.frozen import frozen
from chalicelib.platform.storage.clients import aws_client

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger

MAX_BATCH = 10
MOST_HOPS = 100
_hop: ContextVar[int] = ContextVar("hop", default=0)
"""The length of the chain of the message that is handled; 0 for a schedule or a request."""


@frozen
class Message:
    """SQS delivers the messages of a busy queue fairly between the values of `group`. `delay` is in seconds."""

    body: dict[str, Any]
    group: str
    delay: int = 0

    @property
    def text(self) -> str:
        """The body as it is sent, as the next one of the chain of the message that is handled."""
        return json.dumps({**self.body, "hop": _hop.get()} if _hop.get() else self.body)


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
                    "MessageBody": message.text,
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


@contextmanager
def continue_chain(body: str) -> Iterator[None]:
    """While a message with this body is handled: what is sent then continues its chain."""
    token = _hop.set(json.loads(body).get("hop", 0) + 1)
    try:
        yield
    finally:
        _hop.reset(token)


def send_hints(queue: Queue, log: "Logger", name: str, messages: Sequence[Message], continues: bool = False) -> None:
    """Sends messages about records that a sweep finds as well, so a failure is only logged.

    `continues` is for messages whose consumer may send the same again: none is sent in a chain of MOST_HOPS.
    """
    if continues and _hop.get() >= MOST_HOPS:
        return
    try:
        queue.send(name, messages)
    except Exception:  # whatever it is, it must not undo what was written before
        log.exception("messages were not sent", extra={"queue": name, "count": len(messages)})
