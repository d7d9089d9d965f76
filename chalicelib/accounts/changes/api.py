"""Views of changes that wait."""

from chalicelib.accounts.changes import flows
from chalicelib.accounts.changes.schemas import ChangeAnswer, ChangesPage, ChangesQuery
from chalicelib.platform.http.view import Call


def list_changes(call: Call[None, ChangesQuery]) -> ChangesPage:
    found, cursor = flows.page(call.services, call.caller.account_id, call.query.cursor, call.query.limit)
    return ChangesPage(changes=[ChangeAnswer.of(each) for each in found], nextCursor=cursor)


def read_change(call: Call[None, None]) -> ChangeAnswer:
    return ChangeAnswer.of(flows.read(call.services, call.caller.account_id, call.path["change_id"]))


def approve_change(call: Call[None, None]) -> ChangeAnswer:
    return ChangeAnswer.of(flows.approve(call.services, call.actor, call.caller.signed_in, call.path["change_id"]))


def refuse_change(call: Call[None, None]) -> ChangeAnswer:
    person_id = call.caller.signed_in.person.person_id
    return ChangeAnswer.of(flows.refuse(call.services, call.actor, person_id, call.path["change_id"]))


def withdraw_change(call: Call[None, None]) -> ChangeAnswer:
    person_id = call.caller.signed_in.person.person_id
    return ChangeAnswer.of(flows.withdraw(call.services, call.actor, person_id, call.path["change_id"]))
