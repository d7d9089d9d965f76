"""Options and responses of WebAuthn by the package `webauthn`, which the first use imports (100 ms)."""

import json
from typing import Any, cast

from chalicelib.accounts.passkeys.records import Passkey
from chalicelib.accounts.passkeys.rules import (
    REFUSED,
    RelyingParty,
    Verified,
    decode_base64url,
    encode_base64url,
    expected_count,
)
from chalicelib.base.errors import BadRequest, Unauthorized

Credential = dict[str, Any]
"""A PublicKeyCredential as its toJSON() writes it."""


def registration_options(
    party: RelyingParty, person_id: str, label: str, challenge: bytes, known: list[str]
) -> dict[str, Any]:
    """What `navigator.credentials.create()` takes, in JSON. `known` are the credential ids that the person has."""
    import webauthn
    from webauthn.helpers import structs

    options = webauthn.generate_registration_options(
        rp_id=party.id,
        rp_name=party.name,
        user_name=label,
        user_id=person_id.encode(),
        challenge=challenge,
        authenticator_selection=structs.AuthenticatorSelectionCriteria(
            resident_key=structs.ResidentKeyRequirement.REQUIRED,
            require_resident_key=True,
            user_verification=structs.UserVerificationRequirement.REQUIRED,
        ),
        exclude_credentials=[structs.PublicKeyCredentialDescriptor(decode_base64url(each)) for each in known],
    )
    return cast(dict[str, Any], json.loads(webauthn.options_to_json(options)))


def request_options(party: RelyingParty, challenge: bytes, allowed: list[str]) -> dict[str, Any]:
    """What `navigator.credentials.get()` takes, in JSON. Without `allowed` the person chooses among all of the site."""
    import webauthn
    from webauthn.helpers import structs

    options = webauthn.generate_authentication_options(
        rp_id=party.id,
        challenge=challenge,
        allow_credentials=[structs.PublicKeyCredentialDescriptor(decode_base64url(each)) for each in allowed] or None,
        user_verification=structs.UserVerificationRequirement.REQUIRED,
    )
    return cast(dict[str, Any], json.loads(webauthn.options_to_json(options)))


def verify_registration(party: RelyingParty, credential: Credential, challenge: bytes) -> Verified:
    """Raises BadRequest unless the passkey was made on this site for this challenge, and its user was verified."""
    import webauthn
    from webauthn.helpers import exceptions, structs

    try:
        found = webauthn.verify_registration_response(
            credential=credential,
            expected_challenge=challenge,
            expected_rp_id=party.id,
            expected_origin=party.origin,
            require_user_verification=True,
        )
    except (exceptions.WebAuthnException, ValueError, TypeError, KeyError, IndexError, AttributeError):
        raise BadRequest(REFUSED) from None
    is_synced = found.credential_device_type is structs.CredentialDeviceType.MULTI_DEVICE
    return Verified(
        encode_base64url(found.credential_id),
        encode_base64url(found.credential_public_key),
        found.sign_count,
        is_synced,
    )


def verify_assertion(party: RelyingParty, credential: Credential, challenge: bytes, passkey: Passkey) -> Verified:
    """Raises Unauthorized unless this passkey signed the challenge on this site, and its user was verified.

    A device-bound passkey has to count on (`expected_count`).
    """
    import webauthn
    from webauthn.helpers import exceptions, structs

    try:
        found = webauthn.verify_authentication_response(
            credential=credential,
            expected_challenge=challenge,
            expected_rp_id=party.id,
            expected_origin=party.origin,
            credential_public_key=decode_base64url(passkey.public_key),
            credential_current_sign_count=expected_count(passkey),
            require_user_verification=True,
        )
    except (exceptions.WebAuthnException, ValueError, TypeError, KeyError, IndexError, AttributeError):
        raise Unauthorized(REFUSED) from None
    is_synced = found.credential_device_type is structs.CredentialDeviceType.MULTI_DEVICE
    return Verified(passkey.credential_id, passkey.public_key, found.new_sign_count, is_synced)
