"""Views of passkeys: registering and managing them, signing in and proving presence."""

from chalicelib.accounts.passkeys import flows
from chalicelib.accounts.passkeys.schemas import (
    PasskeyAnswer,
    PasskeyOptions,
    PasskeyRemoved,
    RegisterPasskey,
    RenamePasskey,
    UsePasskey,
)
from chalicelib.accounts.sign_in.cookies import session_cookie
from chalicelib.accounts.sign_in.schemas import Proved, SignedIn
from chalicelib.platform.http.view import AnyCall, Call, Reply


def _own_id(call: AnyCall) -> str:
    return call.caller.signed_in.person.person_id


def ask_to_sign_in_by_passkey(call: Call[None, None]) -> PasskeyOptions:
    return PasskeyOptions(publicKey=flows.ask_to_sign_in(call.services))


def sign_in_by_passkey(call: Call[UsePasskey, None]) -> Reply[SignedIn]:
    credential = call.body.credential.model_dump()
    opened = flows.sign_in(call.services, credential, call.caller.sent_session, call.actor)
    return Reply(SignedIn(), session_cookie(call.services.settings, *opened))


def ask_to_prove_by_passkey(call: Call[None, None]) -> PasskeyOptions:
    return PasskeyOptions(publicKey=flows.ask_to_prove(call.services, call.caller.signed_in))


def prove_by_passkey(call: Call[UsePasskey, None]) -> Proved:
    credential = call.body.credential.model_dump()
    return Proved.of(flows.prove(call.services, call.caller.signed_in, credential, call.actor))


def ask_to_register_passkey(call: Call[None, None]) -> PasskeyOptions:
    return PasskeyOptions(publicKey=flows.ask_to_register(call.services, call.caller.signed_in))


def register_passkey(call: Call[RegisterPasskey, None]) -> PasskeyAnswer:
    credential, name = call.body.credential.model_dump(), call.body.name
    return PasskeyAnswer.of(flows.register(call.services, call.caller.signed_in, credential, name, call.actor))


def list_passkeys(call: Call[None, None]) -> list[PasskeyAnswer]:
    return [PasskeyAnswer.of(each) for each in flows.list_own(call.services, _own_id(call))]


def rename_passkey(call: Call[RenamePasskey, None]) -> PasskeyAnswer:
    member, passkey_id = call.caller.signed_in, call.path["passkey_id"]
    return PasskeyAnswer.of(flows.rename(call.services, member, passkey_id, call.body.name, call.actor))


def remove_passkey(call: Call[None, None]) -> PasskeyRemoved:
    passkey_id = call.path["passkey_id"]
    flows.remove(call.services, call.caller.signed_in, passkey_id, call.actor)
    return PasskeyRemoved(id=passkey_id, removed=True)
