"""The client id that a session creates for.

A session is used only if no other credential is sent, so that it cannot send a client id as a header: a body names it.
"""

from dataclasses import replace
from typing import Annotated

from pydantic import Field, StringConstraints

from chalicelib.base.errors import Problem, ValidationFailed
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.credentials.records import CredentialStatus
from chalicelib.platform.access.credentials.rules import credential_hash
from chalicelib.platform.access.credentials.store import client_id_of
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.schemas import Input
from chalicelib.platform.http.view import Call


class ClientChoice(Input):
    clientId: Annotated[str, StringConstraints(max_length=64)] | None = Field(
        None,
        description="With a session: which of the account's client ids it is for, whose settings, branding and domain "
        "hold then. Ignored with other credentials, which send `x-client-id`",
    )


def owner_of(call: Call[ClientChoice, object]) -> Owner:
    """The owner of what the call creates: with a session for the client id that its body names. One read for that.

    Raises ValidationFailed unless it is an active client id of the account. Its domains are not compared: a session is
    a secret of the account, as an API key is.
    """
    caller, wanted = call.caller, call.body.clientId
    if caller.mode is not Mode.SESSION or wanted is None:
        return caller.owner
    client = client_id_of(call.services.store, credential_hash(wanted))
    if client is None or client.account_id != caller.account_id or client.status is not CredentialStatus.ACTIVE:
        raise ValidationFailed((Problem(("clientId",), "must be an active client ID of the account, or none"),))
    return replace(caller, client=client, uses_payment_intents=client.uses_payment_intents).owner
