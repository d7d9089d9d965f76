"""Views of which e-mails about payments an account wants."""

from chalicelib.accounts.notifications import flows
from chalicelib.accounts.notifications.schemas import ChooseNotifications, NotificationsAnswer
from chalicelib.mail.flows import is_configured
from chalicelib.platform.http.view import Call


def read_notifications(call: Call[None, None]) -> NotificationsAnswer:
    choices = flows.read(call.services, call.caller.account_id)
    return NotificationsAnswer.of(choices, is_configured(call.services))


def choose_notifications(call: Call[ChooseNotifications, None]) -> NotificationsAnswer:
    chosen = flows.choose(call.services, call.actor, call.body.payments, call.body.attention)
    return NotificationsAnswer.of(chosen, is_configured(call.services))
