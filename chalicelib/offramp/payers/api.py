"""Views of payers."""

from chalicelib.base.errors import Forbidden
from chalicelib.offramp.payers import bank_accounts, flows, reading
from chalicelib.offramp.payers.schemas import bodies, responses
from chalicelib.platform.access.callers import check_reads_payers
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.view import Call


def create_payer(call: Call[bodies.CreatePayer, None]) -> responses.PayerCreated:
    body = call.body
    details = body.details(call.services.clock())
    return responses.PayerCreated.of(
        *flows.put(call.services, call.actor, call.caller.client_id, body.clientUserId, details)
    )


def read_payer(call: Call[None, bodies.PayerQuery]) -> responses.PayerAnswer:
    name, owner = call.path["client_user_id"], call.caller.owner
    check_reads_payers(owner)
    if not call.query.export:
        return responses.PayerAnswer.from_record(reading.read_for(call.services, owner, name))
    if owner.mode is Mode.CLIENT_ID:
        raise Forbidden("A client ID is public, and an export has all personal data of a payer: send an x-api-key")
    return responses.PayerAnswer.of_export(*flows.export(call.services, call.actor, name))


def update_payer(call: Call[bodies.UpdatePayer, None]) -> responses.PayerUpdated:
    flows.complete_agreement(call.services, call.caller.account_id, call.path["client_user_id"])
    return responses.PayerUpdated(success=True)


def erase_payer(call: Call[None, None]) -> responses.PayerErased:
    return responses.PayerErased.of(*flows.erase(call.services, call.actor, call.path["client_user_id"]))


def add_payment_details(call: Call[bodies.AddPaymentDetails, None]) -> responses.PaymentDetailsAdded:
    name, details = call.path["client_user_id"], call.body.details(call.services.clock())
    account = bank_accounts.add(call.services, call.caller.account_id, name, details)
    return responses.PaymentDetailsAdded.of(account, name, details)


def list_payment_details(call: Call[None, bodies.PaymentDetailsQuery]) -> responses.PaymentDetailsList:
    wanted = call.query.paymentDetailsId
    found = bank_accounts.read(call.services, call.caller.account_id, call.path["client_user_id"], wanted)
    return responses.PaymentDetailsList(paymentDetails=[responses.BankAccountAnswer.of(*each) for each in found])
