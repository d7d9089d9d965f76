"""What a thief reads in histories of an account: secrets of invitations and tokens to confirm addresses, and their end."""

import json

from chalicelib.accounts.changes.records import PendingChange
from chalicelib.mail.records import Mail, MailKind
from tests.accounts.changes.moves import EVIL_NAME
from tests.fakes.memory_store import MemoryStore
from tests.support.teams import Answer, Team


class Links:
    """`mailbox` is the stolen one, if one is. Those of `evil` are the thief's own."""

    def __init__(self, team: Team, store: MemoryStore, mailbox: str | None) -> None:
        self.team, self.store, self.mailbox = team, store, mailbox
        self.by_mail: dict[MailKind, list[str]] = {MailKind.INVITATION: [], MailKind.CONFIRM: []}
        self.of_wallets = dict[str, str | None]()
        """Secrets of invitations of a wallet, which a response has, with the change that waits."""
        self.over = set[str]()
        """Secrets of invitations that were used or withdrawn."""

    @property
    def invited(self) -> list[str]:
        return [*self.by_mail[MailKind.INVITATION], *self.of_wallets]

    @property
    def confirming(self) -> list[str]:
        return self.by_mail[MailKind.CONFIRM]

    def is_thiefs(self, name: str) -> bool:
        return name.startswith("evil") or name in (EVIL_NAME, self.mailbox)

    def token_in(self, mail: Mail) -> str:
        """What follows `#` in its link."""
        sealed = self.team.world.services.secrets.decrypt(mail.sealed or "", f"mail#{mail.mail_id}")
        return str(json.loads(sealed)["link"]).partition("#")[2]

    def read_mails(self) -> None:
        """Before they are sent, as their links are forgotten then."""
        for mail in self.store.all(Mail):
            if mail.kind in self.by_mail and mail.sealed and self.is_thiefs(mail.recipient):
                known, token = self.by_mail[mail.kind], self.token_in(mail)
                known += [token] if token not in known else []

    def read_answer(self, answer: Answer) -> None:
        """Of an invitation."""
        shown = answer.body["result"] if answer.status == 202 else answer.body
        if shown.get("secret"):
            self.of_wallets[shown["secret"]] = answer.change_id if answer.status == 202 else None

    def end(self, invitation_id: str) -> None:
        self.over |= {each for each in self.invited if each.split(".")[1] == invitation_id}

    def check(self) -> None:
        """What waits, was refused, used or withdrawn opens nothing."""
        applied = {each.change_id for each in self.store.all(PendingChange) if each.state == "applied"}
        early = {secret for secret, change_id in self.of_wallets.items() if change_id and change_id not in applied}
        for secret in early | self.over:
            status = self.team.call("look_up_invitation", {}, {"secret": secret}).status
            assert status == 404, f"an invitation that {'waits' if secret in early else 'is over'} opens: {status}"
