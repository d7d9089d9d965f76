"""Asks the gateways that resolvers name (EIP-3668), through the guarded sender, with limits."""

import json
import time
from typing import Any

from chalicelib.base.errors import BadRequest
from chalicelib.chains.calldata.names import LOCAL_BATCH, Question, answers, questions_of
from chalicelib.payments.requests.names.rules import ADVICE
from chalicelib.platform.outbound.sender import MAX_URL_LENGTH, WebhookSender

MOST_ANSWER = 96 * 1024
"""Bytes of a gateway's answer: proofs of storage on other networks have tens of thousands."""
_LATER = f"try again later, or {ADVICE}"


def answer_of(sender: WebhookSender, question: Question, deadline: float) -> bytes:
    """What the first of the question's URLs answers. No request begins after the deadline (of time.monotonic).

    Raises BadRequest, with the reason of the last one, if none answers: it is the server of a stranger, so that its
    trouble is no failure of this service.
    """
    if LOCAL_BATCH in question.urls:
        return _of_batch(sender, question, deadline)
    reason = "it names none"
    for url in question.urls:
        if time.monotonic() >= deadline:
            reason = "no answer in time"
            break
        found, reason = _ask_gateway(sender, url, question)
        if found is not None:
            return found
    raise BadRequest(f"cannot be resolved: its gateway gave no usable answer ({reason}); {_LATER}")


def _of_batch(sender: WebhookSender, question: Question, deadline: float) -> bytes:
    """The answers to the questions of a batch gateway, each asked for by itself (ENSIP-21)."""
    found = list[bytes | None]()
    refusal: BadRequest | None = None
    for each in _questions(question.data):
        if LOCAL_BATCH in each.urls:
            raise BadRequest(f"cannot be resolved: its gateways lead back to themselves; {ADVICE}")
        try:
            found.append(answer_of(sender, each, deadline))
        except BadRequest as error:
            refusal = error
            found.append(None)
    if refusal is not None and not any(found):
        raise refusal
    return answers(found)


def _questions(data: bytes) -> tuple[Question, ...]:
    try:
        return questions_of(data)
    except ValueError as error:
        raise BadRequest(f"cannot be resolved: its resolver asks for what cannot be read; {ADVICE}") from error


def _ask_gateway(sender: WebhookSender, template: str, question: Question) -> tuple[bytes | None, str]:
    """The data of one answer, or None with what is wrong. With `{data}` in the URL it is a GET, else a POST."""
    data, asker = "0x" + question.data.hex(), question.sender.lower()
    url = template.replace("{sender}", asker).replace("{data}", data)
    if len(url) > MAX_URL_LENGTH:
        return None, "its address is too long"
    body = None if "{data}" in template else json.dumps({"data": data, "sender": asker}).encode()
    result = sender.ask(url, body, MOST_ANSWER)
    if result.status is None:
        return None, result.error or "no answer"
    if not result.delivered:
        return None, f"status {result.status}"
    try:
        return _data(json.loads(result.answer)), ""
    except (ValueError, RecursionError):
        return None, "its answer has no data"


def _data(content: Any) -> bytes:
    text = content.get("data") if isinstance(content, dict) else None
    if not isinstance(text, str) or not text.startswith("0x"):
        raise ValueError("no data")
    return bytes.fromhex(text[2:])
