"""Queue consumer: one attempt of one webhook delivery a message."""

import json

from chalicelib.flows import webhooks
from chalicelib.services import Services


def run(services: Services, body: str) -> None:
    message = json.loads(body)
    webhooks.deliver(services, message["deliveryId"], message["attempt"])
