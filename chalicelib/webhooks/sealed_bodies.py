"""The bodies of events: about persons sealed where they are stored, opened where they are sent or shown.

Only webhooks that a secret of the account has registered or confirmed are sent the personal data.
"""

import json

from chalicelib.platform.privacy import flows as privacy
from chalicelib.platform.privacy.rules import open_text, seal_text
from chalicelib.platform.services import Services
from chalicelib.webhooks.deliveries.records import Delivery
from chalicelib.webhooks.endpoints.records import Endpoint
from chalicelib.webhooks.kinds import is_personal
from chalicelib.webhooks.records import Event
from chalicelib.webhooks.rules import compact_json

_PLACE = "event"


def seal_body(services: Services, key: bytes, body: str) -> str:
    """The body of an event about the person with this data key, as it is stored."""
    return seal_text(key, _PLACE, body, services.entropy)


def body_for(endpoint: Endpoint, body: str) -> str:
    """What a webhook is sent of a body: unless it gets personal data, the empty value of its type for each such field.

    That is the value that the type has without an argument: `""`, `{}`, `[]`, `false`, 0; null stays null.
    """
    if endpoint.gets_personal_data:
        return body
    fields = json.loads(body)
    kind = fields["event"]
    return compact_json({name: type(value)() if is_personal(kind, name) else value for name, value in fields.items()})


def body_of(services: Services, stored: Event | Delivery) -> str | None:
    """The body as it is sent; None if it is about a person who was erased.

    About a person it takes one read and one KMS call, else nothing.
    """
    if stored.person_id is None:
        return stored.body
    key = privacy.data_key(services, stored.person_id)
    return None if key is None else open_text(key, _PLACE, stored.body)
