"""The view that delegates what a wallet on Tron lacks to pay a link."""

from typing import Annotated

from pydantic import AfterValidator, Field

from chalicelib.checkout.energy import flows
from chalicelib.checkout.resources.schemas import DelegationAnswer, delegation_answer
from chalicelib.payments.links.reading import Viewer
from chalicelib.platform.http.fields import TronAddress
from chalicelib.platform.http.schemas import Input, address_text
from chalicelib.platform.http.view import Call


class DelegateEnergy(Input):
    wallet: Annotated[TronAddress, AfterValidator(address_text)] = Field(description="The wallet that pays")


def delegate_energy(call: Call[DelegateEnergy, None]) -> DelegationAnswer:
    made = flows.delegate(call.services, call.path["token"], Viewer.of(call.caller), call.body.wallet)
    return delegation_answer(made)
