"""SQS: messages that are hints to look at a record, never the record itself."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from chalicelib.storage.clients import aws_client

MAX_BATCH = 10


@dataclass(frozen=True)
class Message:
    """`group` names whose work it is: SQS shares a busy queue fairly between groups. `delay` is in seconds."""

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
        """Sends messages, ten a call. Raises RuntimeError when the queue refused one."""
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
            answer = self.client.send_message_batch(QueueUrl=self._url(queue), Entries=entries)
            if answer.get("Failed"):
                raise RuntimeError(f"{queue} refused {len(answer['Failed'])} messages: {answer['Failed'][0]['Code']}")

    def _url(self, queue: str) -> str:
        if queue not in self._urls:
            self._urls[queue] = self.client.get_queue_url(QueueName=queue)["QueueUrl"]
        return self._urls[queue]
