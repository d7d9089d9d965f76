"""Views of the branding of a client id, on the API host for API keys and on the auth host for sessions."""

from chalicelib.accounts.branding import flows
from chalicelib.accounts.branding.schemas import BrandingRemoved, OwnBrandingAnswer, PutBranding
from chalicelib.platform.http.view import Call


def put_branding(call: Call[PutBranding, None]) -> OwnBrandingAnswer:
    return OwnBrandingAnswer.of(flows.put(call.services, call.actor, call.path["id"], call.body.draft()))


def read_branding(call: Call[None, None]) -> OwnBrandingAnswer:
    return OwnBrandingAnswer.of(flows.read(call.services, call.caller.account_id, call.path["id"]))


def remove_branding(call: Call[None, None]) -> BrandingRemoved:
    return BrandingRemoved(removed=flows.remove(call.services, call.actor, call.path["id"]))


put_branding_by_session = put_branding
read_branding_by_session = read_branding
remove_branding_by_session = remove_branding
