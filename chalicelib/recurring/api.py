"""Views of recurring payouts."""

from chalicelib.platform.http.view import Call
from chalicelib.recurring import flows
from chalicelib.recurring.responses import answer_changed, answer_created, listed_answer, recurring_answer
from chalicelib.recurring.schemas import (
    ActivateRecurring,
    ChangeRecurring,
    RecurringActivated,
    RecurringAnswer,
    RecurringCancelled,
    RecurringCreated,
    RecurringPage,
    RecurringQuery,
    RecurringResumed,
)


def activate_recurring(call: Call[ActivateRecurring, None]) -> RecurringActivated:
    recurring_id, signature = call.path["recurring_id"], call.body.permitSignature
    schedule = flows.activate(call.services, call.caller.owner, recurring_id, signature)
    message = "Recurring payment activated successfully"
    return RecurringActivated(message=message, id=schedule.recurring_id, status="active")


def list_recurring(call: Call[None, RecurringQuery]) -> RecurringPage:
    found, cursor = flows.list_own(call.services, call.caller.owner, call.query.cursor, call.query.limit)
    return RecurringPage(recurringPayouts=[listed_answer(each) for each in found], nextCursor=cursor)


def get_recurring(call: Call[None, None]) -> RecurringAnswer:
    return recurring_answer(*flows.find(call.services, call.caller.owner, call.path["recurring_id"]))


def read_permit(call: Call[None, None]) -> RecurringCreated:
    created = flows.find_unsigned(call.services, call.caller.owner, call.path["recurring_id"])
    return answer_created(created, call.services.settings.transaction_value_form)


def change_recurring(call: Call[ChangeRecurring, None]) -> RecurringCancelled | RecurringResumed:
    changed = flows.change(call.services, call.caller.owner, call.path["recurring_id"], call.body.action)
    return answer_changed(changed, call.services.settings.transaction_value_form)
