"""The branding of a client id, on the API host for API keys and on the auth host for sessions."""

from chalice import Blueprint

from chalicelib.access.modes import Mode
from chalicelib.accounts.branding import flows as branding
from chalicelib.accounts.branding.schemas import BrandingRemoved, OwnBrandingAnswer, PutBranding
from chalicelib.http.edge import operation
from chalicelib.http.operation import Call

blueprint = Blueprint(__name__)
_HOSTS = (("/v2/client-ids", Mode.API_KEY, ""), ("/v1/client-ids", Mode.SESSION, "_by_session"))


def _register(host: str, mode: Mode, suffix: str) -> None:
    path, modes = f"{host}/{{id}}/branding", (mode,)

    @operation(
        blueprint,
        "PUT",
        path,
        name=f"put_branding{suffix}",
        summary="Set how the payment page looks for a client id's links",
        modes=modes,
        scope="client_ids:write",
        body=PutBranding,
        answer=OwnBrandingAnswer,
        errors=(400, 401, 403, 404, 409),
    )
    def put_branding(call: Call) -> OwnBrandingAnswer:
        return OwnBrandingAnswer.of(branding.put(call.services, call.actor, call.path["id"], call.body.draft()))

    @operation(
        blueprint,
        "GET",
        path,
        name=f"read_branding{suffix}",
        summary="Read a client id's branding",
        modes=modes,
        scope="client_ids:read",
        answer=OwnBrandingAnswer,
        errors=(401, 403, 404),
    )
    def read_branding(call: Call) -> OwnBrandingAnswer:
        return OwnBrandingAnswer.of(branding.read(call.services, call.caller.account_id, call.path["id"]))

    @operation(
        blueprint,
        "DELETE",
        path,
        name=f"remove_branding{suffix}",
        summary="Remove a client id's branding",
        modes=modes,
        scope="client_ids:write",
        answer=BrandingRemoved,
        errors=(401, 403, 404, 409),
    )
    def remove_branding(call: Call) -> BrandingRemoved:
        return BrandingRemoved(removed=branding.remove(call.services, call.actor, call.path["id"]))


for _host in _HOSTS:
    _register(*_host)
