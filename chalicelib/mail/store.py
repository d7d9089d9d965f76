"""Reads of mails and mailboxes, and of mails that are due."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from chalicelib.base.email_addresses import EmailAddress
from chalicelib.base.records import Key
from chalicelib.mail.records import Choices, Mail, Mailbox, mailbox_hash
from chalicelib.platform.storage.store import Store


def mail(store: Store, mail_id: str) -> Mail | None:
    """One read."""
    return store.get(Mail, Mail.KEY.of(mail_id=mail_id))


def mails(store: Store, mail_ids: Iterable[str]) -> Iterable[Mail]:
    """The mails with these ids that exist. One read for up to a hundred."""
    return store.get_many({Mail.KEY.of(mail_id=each): Mail for each in mail_ids}).values()


def mailbox(store: Store, address: EmailAddress) -> Mailbox:
    """What is known of an address; a new record (version 0) if nothing is. One read."""
    found = store.get(Mailbox, mailbox_key(address))
    return found or Mailbox(mailbox_hash(address.name))


def mailboxes(store: Store, addresses: Iterable[EmailAddress]) -> dict[str, Mailbox]:
    """What is known of some addresses, by their names. One read for up to a hundred."""
    keys = {each.name: mailbox_key(each) for each in addresses}
    found = store.get_many(dict.fromkeys(keys.values(), Mailbox))
    return {name: found.get(key) or Mailbox(mailbox_hash(name)) for name, key in keys.items()}


def mailbox_key(address: EmailAddress) -> Key:
    return Mailbox.KEY.of(name_hash=mailbox_hash(address.name))


def choices(store: Store, account_id: str) -> Choices:
    """The choices of an account; a new record (version 0) if it made none. One read."""
    return store.get(Choices, Choices.KEY.of(account_id=account_id)) or Choices(account_id)


def due(store: Store, before: datetime, limit: int, first_shard: int) -> Iterator[str]:
    """Ids of mails that were due before `before`, at most `limit` per shard. One query per shard."""
    for key in store.due(Mail, before, limit, first_shard):
        yield key.pk.partition("#")[2]
