"""Views for signing in by wallet or e-mail, signing out, switching accounts, and the caller's sessions."""

from chalicelib.accounts.email import flows as email_flows
from chalicelib.accounts.sign_in import flows, identities, open_sessions, presence_proofs, wallets
from chalicelib.accounts.sign_in.cookies import clear_cookie, session_cookie
from chalicelib.accounts.sign_in.schemas import (
    AnswerChallenge,
    AskChallenge,
    ChallengeAnswer,
    Done,
    EmailAndPassword,
    LoggedIn,
    Me,
    OwnIdentity,
    Proved,
    ProvePassword,
    Registered,
    SessionAnswer,
    SignedIn,
    Switch,
)
from chalicelib.base.languages import language_of
from chalicelib.base.timestamps import iso
from chalicelib.mail.flows import is_configured
from chalicelib.platform.access.people import store as person_store
from chalicelib.platform.access.sessions.records import Session
from chalicelib.platform.http.view import AnyCall, Call, Reply


def ask_challenge(call: Call[AskChallenge, None]) -> ChallengeAnswer:
    return ChallengeAnswer.of(wallets.create_challenge(call.services, call.body.address, call.body.chainId))


def verify_wallet(call: Call[AnswerChallenge, None]) -> Reply[SignedIn]:
    opened = flows.sign_in(call.services, call.body.as_plain_values(), call.caller.sent_session, call.actor)
    return Reply(SignedIn(), session_cookie(call.services.settings, *opened))


def register(call: Call[EmailAndPassword, None]) -> Registered:
    email, password = call.body.email, call.body.password
    if not is_configured(call.services):
        return Registered.of(flows.register(call.services, email, password, call.actor), email_sent=False)
    language = language_of(call.headers.get("accept-language", ""))
    permit = email_flows.register(call.services, email, password, language)
    return Registered(id=permit.account_id, email=permit.name, createdAt=iso(call.services.clock()), emailSent=True)


def log_in(call: Call[EmailAndPassword, None]) -> Reply[LoggedIn]:
    email, password = call.body.email, call.body.password
    opened = flows.log_in(call.services, email, password, call.caller.sent_session, call.actor)
    answer = LoggedIn(id=opened[0].account_id, email=opened[0].subject)
    return Reply(answer, session_cookie(call.services.settings, *opened))


def log_out(call: Call[None, None]) -> Reply[Done]:
    open_sessions.log_out(call.services, _session(call), call.actor)
    return Reply(Done(success=True), clear_cookie(call.services.settings))


def me(call: Call[None, None]) -> Me:
    member = call.caller.signed_in
    return Me.of(member, person_store.accounts_of(call.services.store, member.person.person_id))


def list_sessions(call: Call[None, None]) -> list[SessionAnswer]:
    found = open_sessions.list_open(call.services, _session(call).person_id)
    return [SessionAnswer.of(each, _session(call)) for each in found]


def revoke_session(call: Call[None, None]) -> Done:
    open_sessions.revoke(call.services, _session(call).person_id, call.path["session_id"], call.actor)
    return Done(success=True)


def switch_account(call: Call[Switch, None]) -> Reply[SignedIn]:
    opened = flows.switch(call.services, call.caller.signed_in, call.body.accountId, call.actor)
    return Reply(SignedIn(), session_cookie(call.services.settings, *opened))


def ask_to_add_wallet(call: Call[AskChallenge, None]) -> ChallengeAnswer:
    asked = identities.challenge(call.services, call.caller.signed_in, call.body.address, call.body.chainId)
    return ChallengeAnswer.of(asked)


def add_wallet(call: Call[AnswerChallenge, None]) -> OwnIdentity:
    added = identities.add_wallet(call.services, call.caller.signed_in, call.body.as_plain_values(), call.actor)
    return OwnIdentity.of(added.name)


def remove_identity(call: Call[None, None]) -> Done:
    identities.remove(call.services, call.caller.signed_in, call.path["identity_id"], call.actor)
    return Done(success=True)


def prove_by_password(call: Call[ProvePassword, None]) -> Proved:
    return Proved.of(presence_proofs.by_password(call.services, call.caller.signed_in, call.body.password, call.actor))


def ask_to_prove_by_wallet(call: Call[AskChallenge, None]) -> ChallengeAnswer:
    asked = presence_proofs.challenge(call.services, call.caller.signed_in, call.body.address, call.body.chainId)
    return ChallengeAnswer.of(asked)


def prove_by_wallet(call: Call[AnswerChallenge, None]) -> Proved:
    signed = call.body.as_plain_values()
    return Proved.of(presence_proofs.by_wallet(call.services, call.caller.signed_in, signed, call.actor))


def _session(call: AnyCall) -> Session:
    return call.caller.signed_in.session
