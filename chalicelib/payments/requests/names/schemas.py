"""How the name of a payee is shown."""

from pydantic import Field

from chalicelib.base.timestamps import iso
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import name_of
from chalicelib.platform.http.schemas import Output


class PayeeNameAnswer(Output):
    """The name by which a payee was given, and what it was resolved to: that address is paid, wherever the name leads
    later."""

    name: str = Field(description="As it was given, normalized")
    address: str = Field(description="Who is paid")
    resolvedAt: str = Field(description="When it was resolved, ISO 8601 in UTC")
    isPrimary: bool = Field(description="Whether the address named itself so then; only such a name is shown to payers")


def name_answer(request: Request) -> PayeeNameAnswer | None:
    """None for a payee that was given by its address."""
    found = request.payee_name
    if found is None:
        return None
    return PayeeNameAnswer(
        name=found.name, address=request.payee, resolvedAt=iso(found.resolved_at), isPrimary=found.is_primary
    )


def name_fields(request: Request) -> dict[str, PayeeNameAnswer]:
    """The field `payeeName`; none for a payee that was given by its address."""
    answer = name_answer(request)
    return {} if answer is None else {"payeeName": answer}


def shown_name(request: Request) -> dict[str, str]:
    """The field `payeeName` as payers see it."""
    name = name_of(request)
    return {} if name is None else {"payeeName": name}
