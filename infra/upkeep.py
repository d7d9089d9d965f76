"""What an operator does to a stage beside accounts: bans, stopped e-mail addresses, dead letters, audit log, alarms."""

from hashlib import sha256
from ipaddress import ip_network
from typing import Any

from chalicelib.base.email_addresses import email_address
from chalicelib.base.errors import BadRequest, NotFound
from chalicelib.base.timestamps import iso
from chalicelib.gasless.energy import flows as energy
from chalicelib.mail import flows as mail
from chalicelib.platform.access.audit import store as audit_store
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.audit.rules import make_entry
from chalicelib.platform.access.rate_limits import store as limit_store
from chalicelib.platform.access.rate_limits.rules import ANONYMOUS, REFUSED, caller_digest
from chalicelib.platform.services import Services
from chalicelib.platform.storage.clients import aws_client
from chalicelib.platform.storage.store import Delete
from chalicelib.webhooks.signature_keys import flows as signature_keys

DEAD = (
    "announcements", "mail-news", "mails", "payment-intents", "recordings", "recurring", "relayed", "scans",
    "webhook-retries", "webhooks",
)
"""The queues with dead letters, without the prefix of the stage."""
_ENTRIES = 100
_SHOWN = 10
"""The most messages that SQS returns at once."""


def lift_ban(services: Services, credential: str, address: str) -> str:
    """Ends the ban of a credential at an address; the text `anonymous` or `refused` names callers without a valid one.

    Returns a sentence. Raises BadRequest without a credential, or without an IP address or a network of them.
    """
    if not credential:
        raise BadRequest("Send the credential on standard input, or `anonymous` or `refused`.")
    try:
        ip_network(address)
    except ValueError:
        raise BadRequest(f"{address} is not an IP address.") from None
    known = credential in (ANONYMOUS, REFUSED)
    caller = caller_digest(credential if known else sha256(credential.encode()).hexdigest(), address)
    ban = limit_store.ban(services.store, caller)
    if ban is None:
        return "That caller is not banned."
    services.store.write(Delete(ban))
    return "The ban is lifted."


def lift_mail(services: Services, email: str) -> str:
    """Has an e-mail address written to again that bounced or complained. Returns a sentence. Raises BadRequest."""
    lifted = mail.lift(services, email_address(email))
    return "E-mail is sent to that address again." if lifted else "Nothing was stopped for that address."


def rotate_signature_key(services: Services, actor: Actor, *, at_once: bool) -> str:
    """Makes a new key by which deliveries are signed (webhooks/signature_keys); returns a sentence with its id and from
    when it signs. Raises Conflict if a new one does not sign yet."""
    entry = make_entry(actor, "signature_key.rotated", "at once" if at_once else "", services.clock(), services.entropy)
    made = signature_keys.rotate(services, entry, at_once=at_once)
    return f"The key {made.key_id} is published, and signs from {iso(made.signs_from)} on."


def audit_log(services: Services, account_id: str) -> list[str]:
    """A line for each of the newest entries of an account's audit log; a sentence if there are none."""
    found = audit_store.entries_before(services.store, account_id, None, _ENTRIES)
    return [f"{iso(each.at)}  {each.actor}  {each.action}  {each.target}".rstrip() for each in found] or ["No entries."]


def dead_letters(services: Services, queue: str) -> list[str]:
    """The bodies of up to ten dead letters, which are hidden for a moment; a sentence if there are none."""
    sqs = aws_client("sqs")
    found = _receive(sqs, _url(services, sqs, f"{queue}-dead"), visible_after=1)
    return [each["Body"] for each in found] or ["There are no dead letters."]


def send_back(services: Services, queue: str) -> str:
    """Moves all dead letters into their queue; returns a sentence. Each is deleted after it was sent."""
    sqs, moved = aws_client("sqs"), 0
    dead, alive = (_url(services, sqs, name) for name in (f"{queue}-dead", queue))
    while found := _receive(sqs, dead, visible_after=60):
        for each in found:
            sqs.send_message(QueueUrl=alive, MessageBody=each["Body"], **_group(each))
            sqs.delete_message(QueueUrl=dead, ReceiptHandle=each["ReceiptHandle"])
        moved += len(found)
    return f"Moved back: {moved}."


def subscribe(services: Services, email: str, tickets: bool) -> str:
    """Subscribes an e-mail address to the alarms that wake a person, or to those that can wait (`tickets`); returns a
    sentence. Raises NotFound without the topic."""
    sns, name = aws_client("sns"), f"{services.settings.resource_prefix}-{'tickets' if tickets else 'alarms'}"
    pages = sns.get_paginator("list_topics").paginate()
    topics = [each["TopicArn"] for page in pages for each in page["Topics"]]
    arn = next((each for each in topics if each.rpartition(":")[2] == name), None)
    if arn is None:
        raise NotFound(f"There is no topic {name}: deploy the stage first.")
    sns.subscribe(TopicArn=arn, Protocol="email", Endpoint=email)
    return f"AWS asks {email} to confirm; until then no alarm arrives there."


def _url(services: Services, sqs: Any, name: str) -> str:
    url: str = sqs.get_queue_url(QueueName=f"{services.settings.resource_prefix}-{name}")["QueueUrl"]
    return url


def _receive(sqs: Any, url: str, visible_after: int) -> list[dict[str, Any]]:
    response = sqs.receive_message(
        QueueUrl=url,
        MaxNumberOfMessages=_SHOWN,
        VisibilityTimeout=visible_after,
        WaitTimeSeconds=1,
        AttributeNames=["MessageGroupId"],
    )
    found: list[dict[str, Any]] = response.get("Messages", [])
    return found


def _group(message: dict[str, Any]) -> dict[str, str]:
    group = message.get("Attributes", {}).get("MessageGroupId")
    return {"MessageGroupId": group} if group else {}


def stake_lines(services: Services) -> list[str]:
    """A line for the account on Tron whose stake is delegated, with the address of the key that does; none without."""
    if (setting := energy.read_setting(services)) is None:
        return []
    return [f"{'tron':12}  {setting.account}  its stake is delegated by the key of {energy.key_address(services)}"]
