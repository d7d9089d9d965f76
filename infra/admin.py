"""Operator commands: accounts, credentials, sessions, off-ramp orders and more. `python -m infra.admin --help`.

Needs the environment variables of the service (RESOURCE_PREFIX and others), and AWS credentials to write its tables.
Every change is in the audit log of the account, with the actor `operator`.
"""

import argparse
import sys
from collections import Counter
from datetime import datetime
from typing import TypeAlias

from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.accounts.api_keys import flows as api_keys
from chalicelib.accounts.client_ids import flows as client_ids
from chalicelib.accounts.credentials import flows as credentials
from chalicelib.accounts.orchestrators import flows as orchestrators
from chalicelib.accounts.sign_in import flows as sign_in_flows
from chalicelib.accounts.sign_in import open_sessions
from chalicelib.base import ids
from chalicelib.base.errors import NotFound, ServiceError
from chalicelib.base.money import format_amount
from chalicelib.base.timestamps import iso
from chalicelib.offramp.core import store as offramp_store
from chalicelib.offramp.core.records import OrderStatus
from chalicelib.offramp.core.rules import ENDS
from chalicelib.offramp.service import settling
from chalicelib.payments.links import reading as link_reading
from chalicelib.payments.links.payouts import flows as payouts
from chalicelib.platform.access.audit import rules as audit
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.credentials import store as credential_store
from chalicelib.platform.access.credentials.records import Account, ApiKey, ClientId, OrchestratorKey
from chalicelib.platform.access.credentials.store import Credential
from chalicelib.platform.access.modes import Tier
from chalicelib.platform.access.people.records import Role
from chalicelib.platform.emergency_stop import flows as emergency_stop
from chalicelib.platform.services import Services, assemble
from chalicelib.platform.settings import InvalidSettings, Settings
from chalicelib.platform.storage.store import WriteConflict
from chalicelib.relayer import flows as relayer_flows
from chalicelib.relayer.rules import COIN_DECIMALS
from infra import members, nodes, reindexing, upkeep

FROM_STDIN = "-"
SERVICE = "service"
"""In place of an account, in the audit log of what concerns all of them."""
_REPORT_EVERY = 10_000
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def create_account(services: Services, name: str) -> str:
    """Creates an account; returns its id."""
    now = services.clock()
    account = Account(ids.ulid(now, services.entropy), name, now)
    services.store.write(account)
    return account.account_id


def create_api_key(services: Services, account_id: str, label: str) -> str:
    """Creates an API key of the account; returns the key, which is stored only as a hash. Raises NotFound."""
    return api_keys.create_api_key(services, _operator(services, account_id), {"label": label})[1]


def create_client_id(services: Services, account_id: str, label: str, domains: list[str]) -> str:
    """Creates a client id for the given origins, or for servers if there are none. Raises NotFound, BadRequest."""
    actor = _operator(services, account_id)
    return client_ids.create_client_id(services, actor, {"label": label, "allowed_domains": domains}).client_id


def create_orchestrator(services: Services, account_id: str, name: str, email: str) -> str:
    """Creates an orchestrator of the account; returns its key. Raises NotFound, BadRequest."""
    actor = _operator(services, account_id)
    return orchestrators.register(services, actor, name, email)[2]


def revoke(services: Services, credential: str) -> bool:
    """Revokes a credential permanently, by the text that callers send; returns False if it is unknown."""
    record = credentials.find(services, credential)
    if record is None:
        return False
    credentials.revoke(services, _as_operator(record.account_id), record)
    return True


def list_credentials(services: Services, account_id: str) -> list[str]:
    """A line for each credential of the account, with what identifies it. Raises NotFound."""
    _operator(services, account_id)
    lines = []
    for key, used in credentials.list_own(services, account_id, ApiKey):
        lines.append(_line("API key", key.key_id, f"{key.prefix}...", key, used))
    for client, used in credentials.list_own(services, account_id, ClientId):
        lines.append(_line("client id", client.record_id, client.client_id, client, used))
    for platform, used in credentials.list_own(services, account_id, OrchestratorKey):
        lines.append(_line("platform", platform.key_id, f"{platform.prefix}...", platform, used))
    return lines


def reset_password(services: Services, email: str, password: str) -> int:
    """Sets the password for an e-mail address and ends the person's sessions; returns how many.

    Raises NotFound, BadRequest.
    """
    return sign_in_flows.reset_password(services, email, password, _as_operator(""))


def end_sessions(services: Services, account_id: str) -> int:
    """Ends every session of members in the account; returns how many. Raises NotFound."""
    return open_sessions.end_all_of_account(services, account_id, _operator(services, account_id))


def reindex(services: Services, segment: int, segments: int) -> str:
    """Gives records their places in new lists, and counts what had no room; returns how many. Safe to repeat."""
    written = Counter[str]()
    for number, written in enumerate(reindexing.reindex(services, segment, segments), 1):
        if number % _REPORT_EVERY == 0:
            print(f"{number} records read, {written.total()} written", file=sys.stderr, flush=True)
    names = ", ".join(f"{number} {name}{'s' * (number > 1)}" for name, number in sorted(written.items()))
    return f"Written: {names}." if names else "Nothing was left to write."


def relayer(services: Services) -> list[str]:
    """A line for the service's own account on each network: its address, balance and next nonce, and what is open.

    What it holds for others has a line for each token. A former account, whose key was replaced, is shown as long as
    calls of it are open or it holds something. The last line is the stake on Tron, with the address of its key.
    """
    lines = []
    for state in relayer_flows.account_states(services):
        balance = "unknown: no node answered" if state.balance is None else format_amount(state.balance, COIN_DECIMALS)
        nonce = "unknown" if state.next_nonce is None else state.next_nonce
        lines.append(f"{state.network:12}  {state.address}  balance {balance}  next nonce {nonce}  open {state.open}")
        lines += [f"{'':12}  holds {amount} base units of {token} for others" for token, amount in state.holdings]
    return lines + upkeep.stake_lines(services)


def stop(services: Services, reason: str) -> str:
    """Stops payments (chalicelib/platform/emergency_stop/flows.py); returns since when, in words."""
    entry = audit.make_entry(_as_operator(SERVICE), "payments.stopped", reason, services.clock(), services.entropy)
    since = iso(emergency_stop.stop(services, reason, entry).since)
    return f"Payments are stopped since {since}; every container knows within 5 seconds. `resume` ends it."


def resume(services: Services) -> str:
    """Ends the stop of payments; returns a sentence."""
    entry = audit.make_entry(_as_operator(SERVICE), "payments.resumed", "", services.clock(), services.entropy)
    ended = emergency_stop.resume(services, entry)
    if ended is None:
        return "Payments are not stopped."
    return f"Payments go on within 5 seconds. They were stopped since {iso(ended.since)}: {ended.reason}."


def settle_offramp(services: Services, request_id: str, end: OrderStatus) -> str:
    """Settles the off-ramp order of a request by hand; returns the id of the order. Raises NotFound, Conflict."""
    order = offramp_store.order(services.store, request_id)
    actor = _as_operator(order.account_id if order else "")
    return settling.settle(services, actor, request_id, end).order_id


def refuse_payout(services: Services, token: str) -> str:
    """Marks a payout as refused by compliance; returns a sentence. Raises NotFound, Conflict."""
    payment = link_reading.load(services, token)
    payouts.refuse(services, token, _as_operator(payment.link.account_id if payment else ""))
    return f"{token} can no longer be paid."


def main(arguments: list[str]) -> int:
    """Runs one command. Returns 0, or 1 with a sentence on stderr if it failed."""
    options = _parser().parse_args(arguments)
    try:
        lines = _run(assemble(Settings.read()), options)
    except ServiceError as error:
        return _fail(error.message)
    except WriteConflict:
        return _fail("Somebody changed it at the same moment: run the command again.")
    except InvalidSettings as error:
        return _fail(f"The service's environment is missing or wrong: {', '.join(error.problems)}.")
    except (BotoCoreError, ClientError) as error:
        return _fail(f"AWS did not do it: {error}")
    print(*lines, sep="\n")
    return 0


def _run(services: Services, options: argparse.Namespace) -> list[str]:
    lines = _run_on_account(services, options)
    return _run_on_service(services, options) if lines is None else lines


def _run_on_account(services: Services, options: argparse.Namespace) -> list[str] | None:
    """What a command about accounts, people and credentials prints; None of another command."""
    match options.command:
        case "create-account":
            return [create_account(services, options.name)]
        case "create-api-key":
            return [create_api_key(services, options.account, options.label)]
        case "create-client-id":
            return [create_client_id(services, options.account, options.label, options.domain)]
        case "create-orchestrator":
            return [create_orchestrator(services, options.account, options.name, options.email)]
        case "invite":
            return [members.invite(services, _operator(services, options.account), options.name, Role(options.role))]
        case "members":
            return members.list_members(services, options.account) or ["No members: `invite` makes a link for one."]
        case "list":
            return list_credentials(services, options.account) or ["No credentials."]
        case "reset-password":
            ended = reset_password(services, options.email, sys.stdin.readline().rstrip("\r\n"))
            return [f"The password is changed. Sessions ended: {ended}."]
        case "end-sessions":
            return [f"Sessions ended: {end_sessions(services, options.account)}."]
        case "revoke" | "set-tier":
            return [_change_credential(services, options)]
    return None


def _run_on_service(services: Services, options: argparse.Namespace) -> list[str]:
    match options.command:
        case "reindex":
            return [reindex(services, options.segment, options.segments)]
        case "relayer":
            return relayer(services) or ["RELAYER_KEYS names no network."]
        case "nodes":
            return nodes.list_nodes(services) or ["No network has a node."]
        case "deferred":
            return nodes.list_deferred(services) or ["No transaction is deferred."]
        case "set-node":
            change = nodes.remove_nodes if options.remove else nodes.set_nodes
            return change(services, options.network, _urls(options))
        case "audit":
            return upkeep.audit_log(services, options.account)
        case "lift-mail":
            return [upkeep.lift_mail(services, options.email)]
        case "lift-ban":
            return [upkeep.lift_ban(services, sys.stdin.readline().strip(), options.address)]
        case "dead-letters" if options.back:
            return [upkeep.send_back(services, options.queue)]
        case "dead-letters":
            return upkeep.dead_letters(services, options.queue)
        case "subscribe":
            return [upkeep.subscribe(services, options.email, options.tickets)]
        case "stop":
            return [stop(services, options.reason)]
        case "resume":
            return [resume(services)]
        case "rotate-signature-key":
            return [upkeep.rotate_signature_key(services, _as_operator(SERVICE), at_once=options.at_once)]
        case "settle-offramp":
            settled = settle_offramp(services, options.request, OrderStatus(options.end))
            return [f"{settled} is settled as {options.end}, and the merchant is told."]
        case "refuse-payout":
            return [refuse_payout(services, options.token)]
    raise AssertionError(f"the command {options.command} does nothing")


def _change_credential(services: Services, options: argparse.Namespace) -> str:
    record = _credential(services, options)
    actor = _as_operator(record.account_id)
    if options.command == "revoke":
        credentials.revoke(services, actor, record)
        return "Revoked for good."
    credentials.set_tier(services, actor, record, Tier(options.tier))
    return f"The tier is {options.tier} now."


def _urls(options: argparse.Namespace) -> list[str]:
    """The URLs of the command, or of the lines of standard input. Raises NotFound if one is missing."""
    given: list[str] = options.url
    urls = [line.strip() for line in sys.stdin] if given == [FROM_STDIN] else given
    if not urls and not options.remove:
        raise NotFound("Give the URL of a node, or - and the URLs on standard input.")
    return [url for url in urls if url]


def _credential(services: Services, options: argparse.Namespace) -> Credential:
    """The credential that the command names. Raises NotFound."""
    if options.id == FROM_STDIN:
        record = credentials.find(services, sys.stdin.readline().strip())
        if record is None:
            raise NotFound("There is no such credential.")
        return record
    if options.account is None:
        raise NotFound("Name the account with --account, or give - as id and the credential itself on standard input.")
    _operator(services, options.account)
    record = credentials.find_by_id(services, options.account, options.id)
    if record is None:
        raise NotFound(f"The account has no credential with the id {options.id}; `list` shows them.")
    return record


def _operator(services: Services, account_id: str) -> Actor:
    """The operator as actor in an account. Raises NotFound."""
    if credential_store.account(services.store, account_id) is None:
        raise NotFound(f"There is no account {account_id}.")
    return _as_operator(account_id)


def _as_operator(account_id: str) -> Actor:
    return Actor(account_id, "operator", "", "")


def _line(kind: str, record_id: str, text: str, record: Credential, used: datetime | None) -> str:
    last = f"last used {iso(used)}" if used else "never used"
    name = f"orchestratorId {record.orchestrator_id}" if isinstance(record, OrchestratorKey) else record.label
    label = "".join(character if character.isprintable() else "?" for character in name)
    return f"{kind:9}  {record_id}  {text}  {record.status}  {record.tier}  {last}  {label}".rstrip()


def _fail(sentence: str) -> int:
    print(sentence, file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m infra.admin", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    _add_account_commands(commands)
    _add_credential_commands(commands)
    _add_service_commands(commands)
    _add_alarm_commands(commands)
    _add_payment_commands(commands)
    return parser


def _add_account_commands(commands: Commands) -> None:
    account = commands.add_parser("create-account", help="prints the new account's id")
    account.add_argument("name")
    key = commands.add_parser("create-api-key", help="prints the new key, once")
    client = commands.add_parser("create-client-id", help="prints the new client id")
    client.add_argument("--domain", action="append", default=[], help="allowed origin; may be repeated")
    for command in (key, client):
        command.add_argument("--label", default="made by the operator")
    platform = commands.add_parser("create-orchestrator", help="prints the key of a platform; `list` shows its id")
    platform.add_argument("name")
    platform.add_argument("--email", required=True, help="where its support is asked for")
    invited = commands.add_parser("invite", help="prints the link with which a person joins an account, once")
    invited.add_argument("name", help="their e-mail address, or the address of their wallet")
    invited.add_argument("--role", choices=[each.value for each in Role], default=Role.OWNER.value)
    listing = commands.add_parser("members", help="prints the members and open invitations of an account")
    listed = commands.add_parser("list", help="prints the credentials of an account")
    ended = commands.add_parser("end-sessions", help="ends every session of an account")
    for command in (key, client, platform, invited, listing, listed, ended):
        command.add_argument("--account", required=True, help="the account's id")


def _add_credential_commands(commands: Commands) -> None:
    password = commands.add_parser("reset-password", help="reads an e-mail user's new password from standard input")
    password.add_argument("email")
    revoked = commands.add_parser("revoke", help="revokes a credential for good")
    tier = commands.add_parser("set-tier", help="sets how often a credential may call")
    for command in (revoked, tier):
        command.add_argument("id", help="as `list` prints it; - reads the credential itself from standard input")
        command.add_argument("--account", help="the account's id; not needed with -")
    tier.add_argument("tier", choices=[each.value for each in Tier])
    audited = commands.add_parser("audit", help="prints the newest entries of an audit log")
    audited.add_argument("--account", default=SERVICE, help="without it: what concerned all accounts")
    lifted = commands.add_parser("lift-ban", help="reads a credential, `anonymous` or `refused` from standard input")
    lifted.add_argument("--address", required=True, help="the IP address of the caller")
    mailed = commands.add_parser("lift-mail", help="has an e-mail address written to again that bounced or complained")
    mailed.add_argument("email")


def _add_service_commands(commands: Commands) -> None:
    indexed = commands.add_parser("reindex", help="fills lists that are new; safe to repeat")
    indexed.add_argument("--segments", type=int, default=1, help="for several processes at once, each with its part")
    indexed.add_argument("--segment", type=int, default=0, help="the part of this process, from 0 on")
    commands.add_parser("relayer", help="prints the service's own account on each network")
    commands.add_parser("nodes", help="prints the hosts of the nodes of each network, and how far it is read")
    commands.add_parser("deferred", help="prints the transactions whose transfers wait for what a node does not return")
    node = commands.add_parser("set-node", help="checks and stores the URLs of a network's nodes")
    node.add_argument("--network", required=True, help="its name, such as base")
    node.add_argument("--remove", action="store_true", help="removes these URLs, or all without any")
    node.add_argument("url", nargs="*", help="the preferred one first; - reads them from standard input")


def _add_alarm_commands(commands: Commands) -> None:
    dead = commands.add_parser("dead-letters", help="prints messages that crashed their consumer five times")
    dead.add_argument("queue", choices=upkeep.DEAD)
    dead.add_argument("--back", action="store_true", help="moves all of them back into the queue")
    subscribed = commands.add_parser("subscribe", help="sends alarms that wake a person to an e-mail address")
    subscribed.add_argument("email")
    subscribed.add_argument("--tickets", action="store_true", help="those that can wait for the morning")


def _add_payment_commands(commands: Commands) -> None:
    stopped = commands.add_parser("stop", help="hands out nothing to sign and executes nothing, from now on")
    stopped.add_argument("--reason", required=True, help="for the audit log; callers are not told")
    commands.add_parser("resume", help="ends `stop`")
    rotated = commands.add_parser("rotate-signature-key", help="has another key sign deliveries from tomorrow on")
    rotated.add_argument("--at-once", action="store_true", help="from now on, and ends all others: one is known")
    settled = commands.add_parser("settle-offramp", help="says what became of an off-ramp order that has no end")
    settled.add_argument("request", help="the request's id, `payable` in the log")
    settled.add_argument("end", choices=[each.value for each in ENDS], help="as the provider says it outside its API")
    refused = commands.add_parser("refuse-payout", help="marks a payout as refused by compliance: nobody pays it")
    refused.add_argument("token", help="of the payout's link")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
