"""Which e-mails about payments an account wants: none until it says so, and each change of that is told."""

from chalicelib.accounts.notifications import flows
from chalicelib.mail.records import Choices, MailKind
from chalicelib.platform.access.audit.records import AuditEntry
from tests.bench.calls import counted
from tests.fakes.world import World


def test_an_account_wants_none_until_it_says_so(world: World) -> None:
    assert flows.read(world.services, "acct") == Choices("acct", payments=False, attention=False)
    chosen = flows.choose(world.services, world.actor, payments=True, attention=False)
    assert flows.read(world.services, "acct") == chosen
    assert chosen.wants(MailKind.PAYMENT) and not chosen.wants(MailKind.ATTENTION)
    assert not chosen.wants(MailKind.CHANGES), "of changes owners are told in any case"


def test_a_change_is_in_the_audit_log_and_no_change_writes_nothing(world: World) -> None:
    flows.choose(world.services, world.actor, payments=True, attention=True)
    with counted(world.client) as calls:
        flows.choose(world.services, world.actor, payments=True, attention=True)
    assert calls.by_operation == {"GetItem": 1}
    entries = world.services.store.query(AuditEntry, AuditEntry.KEY.all(account_id="acct"))
    assert [each.action for each in entries] == ["notifications.updated"]
