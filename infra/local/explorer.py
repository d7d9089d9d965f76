"""The local explorer: `/request/<request id>`, to which events link, leads to the payment page of the request's link.

Of a request without a link, which has no page, it shows how far it is paid. Deployed, EXPLORER_URL names a host of the
operator's own. The service has no such page: only the owner of a request may look it up by its id.
"""

from collections.abc import Callable
from functools import cached_property

from chalicelib.base.money import format_amount
from chalicelib.chains.catalogue.conversions import on_chain_decimals
from chalicelib.payments.links.store import payable_of
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import invoice_of
from chalicelib.platform.services import Services
from infra.local.serving import JsonRequest, JsonResponse, JsonServer

_NOT_FOUND = JsonResponse({"message": "No such request. Sample events name one that does not exist."}, 404)


class Explorer:
    """A running explorer. `assemble` is called at the first request, `pay_url` is the host of the payment page."""

    def __init__(self, assemble: Callable[[], Services], pay_url: str, port: int | None = None) -> None:
        self._assemble, self._pay_url = assemble, pay_url
        self._server = JsonServer("the explorer", self._respond, port)
        self.url = self._server.url

    def stop(self) -> None:
        self._server.close()

    @cached_property
    def _services(self) -> Services:
        return self._assemble()

    def _respond(self, request: JsonRequest) -> JsonResponse:
        folder, _, request_id = request.path.rpartition("/")
        recorded = payable_of(self._services.store, request_id) if folder == "/request" else None
        if recorded is None:
            return _NOT_FOUND
        if recorded.link is None:
            return JsonResponse(_facts(recorded.requests[0]))
        return JsonResponse(None, 302, {"location": f"{self._pay_url}/?token={recorded.link.token}"})


def _facts(request: Request) -> dict[str, str | None]:
    decimals = on_chain_decimals(invoice_of(request))
    return {
        "requestId": request.request_id,
        "status": request.status,
        "currency": invoice_of(request).symbol,
        "expectedAmount": format_amount(request.amount, decimals),
        "totalAmountPaid": format_amount(request.paid, decimals),
        "txHash": request.tx_hash,
    }
