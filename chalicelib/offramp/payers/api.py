"""Views of payers."""

from chalicelib.base.errors import Forbidden
from chalicelib.offramp.payers import bank_accounts, erasure, flows, reading
from chalicelib.offramp.payers.schemas.bodies import (
    AddPaymentDetails,
    CreatePayer,
    PayerQuery,
    PaymentDetailsQuery,
    UpdatePayer,
)
from chalicelib.offramp.payers.schemas.responses import (
    PayerAnswer,
    PayerCreated,
    PayerErased,
    PayerUpdated,
    PaymentDetailsAdded,
    PaymentDetailsList,
)
from chalicelib.platform.access.callers import check_reads_payers
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.view import Call


def create_payer(call: Call[CreatePayer, None]) -> PayerCreated:
    body = call.body
    details = body.details(call.services.clock())
    return PayerCreated.of(*flows.put(call.services, call.actor, call.caller.client_id, body.clientUserId, details))


def read_payer(call: Call[None, PayerQuery]) -> PayerAnswer:
    name, owner = call.path["client_user_id"], call.caller.owner
    check_reads_payers(owner)
    if not call.query.export:
        return PayerAnswer.of(reading.read_for(call.services, owner, name))
    if owner.mode is Mode.CLIENT_ID:
        raise Forbidden("A client ID is public, and an export has all personal data of a payer: send an x-api-key")
    return PayerAnswer.of_export(*flows.export(call.services, call.actor, name))


def update_payer(call: Call[UpdatePayer, None]) -> PayerUpdated:
    flows.complete_agreement(call.services, call.caller.account_id, call.path["client_user_id"])
    return PayerUpdated(success=True)


def erase_payer(call: Call[None, None]) -> PayerErased:
    return PayerErased.of(*erasure.erase(call.services, call.actor, call.path["client_user_id"]))


def add_payment_details(call: Call[AddPaymentDetails, None]) -> PaymentDetailsAdded:
    name, details = call.path["client_user_id"], call.body.details(call.services.clock())
    account = bank_accounts.add(call.services, call.caller.account_id, name, details)
    return PaymentDetailsAdded.of(account, name, details)


def list_payment_details(call: Call[None, PaymentDetailsQuery]) -> PaymentDetailsList:
    wanted = call.query.paymentDetailsId
    found = bank_accounts.read(call.services, call.caller.account_id, call.path["client_user_id"], wanted)
    return PaymentDetailsList.of(found)
