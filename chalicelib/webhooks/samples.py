"""Sample events for test deliveries, one for every kind of event, with the fields and forms of real ones."""

from dataclasses import replace

from chalicelib.base.errors import Problem, ValidationFailed
from chalicelib.base.timestamps import iso
from chalicelib.webhooks.fields import SEQUENCE
from chalicelib.webhooks.kinds import KINDS, body_of, new_event, sample_of
from chalicelib.webhooks.records import Event
from chalicelib.webhooks.rules import EventContext, Payload


def sample_event(kind: str, account_id: str, client_id: str | None, context: EventContext) -> Event:
    """An event of that kind with invented data. Raises ValidationFailed, which lists the kinds, for an unknown kind."""
    if kind not in KINDS:
        expected = " | ".join(f"'{k}'" for k in KINDS)
        problem = Problem(
            ("eventType",),
            f"Invalid enum value. Expected {expected}, received '{kind[:100]}'",
            "invalid_enum_value",
            (("options", list(KINDS)),),
            verbatim=True,
        )
        raise ValidationFailed((problem,))
    body = body_of(kind, _facts(kind, client_id, context))
    sample = new_event(kind, body, account_id, client_id, context)
    return replace(sample, published=True, sequence=SEQUENCE.example)


def _facts(kind: str, client_id: str | None, context: EventContext) -> Payload:
    """What a sample may say; a body takes what its kind has. One of a client id names it."""
    facts = sample_of(kind)
    if client_id is not None:
        facts["clientId"] = client_id
    elif not kind.endswith(".client_id"):
        facts = {name: value for name, value in facts.items() if name not in ("clientId", "origin")}
    return {
        **facts,
        "timestamp": iso(context.now),
        "paymentProcessor": context.processor(is_fiat=facts.get("isCryptoToFiat", False)),
        "explorer": f"{context.explorer_url}/request/{facts.get('requestId')}",
    }
