"""What events are made of: the context they happen in, and the JSON of their bodies."""

import json
from datetime import datetime
from typing import Any

from chalicelib.base.frozen import frozen
from chalicelib.base.ids import Entropy

Payload = dict[str, Any]


@frozen
class EventContext:
    """The time and entropy of an event, and the names in its body that a deployment sets."""

    now: datetime
    entropy: Entropy
    explorer_url: str
    payment_processor: str
    fiat_processor: str = "service-tech"

    def processor(self, is_fiat: bool) -> str:
        """Who processes a payment on a chain, or its way from there to a bank account."""
        return self.fiat_processor if is_fiat else self.payment_processor


def compact_json(value: Any) -> str:
    """JSON exactly as JavaScript's `JSON.stringify(JSON.parse(text))` returns it.

    Some receivers verify the signature over the re-serialised body (supplement, 10.1). So there are no spaces and no
    unnecessary escapes, and amounts are strings, because a number can be written in several ways.
    """
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
