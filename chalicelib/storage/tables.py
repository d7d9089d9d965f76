"""Tables, keys and indexes: which record lives where. The one place besides infra/template.yaml.

    payments   LINK#<token>            LINK                      a link
               LINK#<token>            REQUEST#<position>        its requests, read together with it
               LINK#<token>            INTENT                    the last multisig transaction that was to pay it
               REFERENCE#<topic>       REFERENCE                 which request a payment reference belongs to
               REQUEST#<request id>    REQUEST                   which link a request belongs to
               PAYMENTS#<request id>   <network>#<block>#<log>   the payments of a request
               STRAYS#<request id>     <network>#<block>#<log>   transfers with its reference that do not count
    identity   ACCOUNT#<id>            ACCOUNT
               ACCOUNT#<id>            <kind>#<record id>        leads to the credentials of an account
               ACCOUNT#<id>            DESTINATION#<record id>   its payee destinations
               CREDENTIAL#<sha256>     API_KEY | CLIENT_ID | ORCHESTRATOR_KEY
               CREDENTIAL#<sha256>     BRANDING                  of a client id: how its payment page looks
               USER#<sha256>           USER                      the account of a wallet or an e-mail address
               WALLET#<address>        DESTINATION               the one active destination of a wallet
               ORCHESTRATOR#<id>       ORCHESTRATOR | CLIENT#<client id>
               AUDIT#<account>         <entry id>                who did what, in order
    sessions   SESSION#<sha256>        SESSION                   open sessions, by the hash of their token
               ACCOUNT#<id>            SESSION#<id>              leads to the sessions of an account
               CHALLENGE#<id>          CHALLENGE                 what a wallet is to sign, once
               NONCE#<nonce>           NONCE                     what a destination's signature is bound to, once
    webhooks   SCOPE#<client or acct>  ENDPOINT#<id>             webhooks, listed together
               SCOPE#<client or acct>  URL#<sha256 of the url>   one webhook a URL
               EVENT#<id>              EVENT                     the outbox while not announced
               DELIVERY#<id>           DELIVERY                  an event on its way to one webhook
    ops        CHAIN#<network>         CURSOR                    how far a network is read
               CHAIN#<network>         PAYMENT#<block>#<hash>#<log>   young payments, to be found again after a fork
               RATE#<window>           RATE                      how often somebody called
               RATE#block#<caller>     RATE                      who is shut out
               REPEAT#<sha256>         REPEAT                    the answer under an idempotency key
               USED#<record id>        USED                      when a credential was last used

The sparse index `by_due` (due_shard, due_at) holds what time will bring up: pending links by expiry, multicalls that
are being assembled, multisig intents to look at, events that are not announced, deliveries that are not done. It is
spread over shards so that no partition takes all writes; intents have shards of their own beside the links'.
"""

import hashlib
from datetime import datetime, timedelta
from typing import Any

from chalicelib.access.audit.records import AuditEntry
from chalicelib.access.credentials.records import Account, ApiKey, ClientId, LastUse, OrchestratorKey, Owned, User
from chalicelib.access.idempotency.records import Repeatable
from chalicelib.access.rate_limits.records import Block
from chalicelib.access.sessions.records import OwnedSession, Session
from chalicelib.accounts.branding.records import Branding
from chalicelib.accounts.orchestrators.records import Linkage, Orchestrator
from chalicelib.accounts.sign_in.records import Challenge
from chalicelib.base.records import IDENTITY, OPS, PAYMENTS, SESSIONS, WEBHOOKS, Key
from chalicelib.detection.records import Cursor, YoungPayment
from chalicelib.links.multicalls.rules import ASSEMBLY_TIME
from chalicelib.links.records import IntentStatus, Link, LinkStatus, PaymentType, SafeIntent
from chalicelib.payees.records import ActiveDestination, PayeeDestination, SigningNonce
from chalicelib.requests.records import Payment, Reference, Request, RequestPlace, StrayTransfer
from chalicelib.webhooks.records import Delivery, Endpoint, EndpointUrl, Event
from chalicelib.webhooks.rules import is_open

DUE_INDEX = "by_due"
DUE_SHARDS = 8

EVENT_RETENTION = timedelta(days=30)
"""Events and deliveries vanish after this; the payments they tell of stay."""
YOUNG_PAYMENT_RETENTION = timedelta(days=7)
"""No supported network forks deeper than this."""
AUDIT_RETENTION = timedelta(days=400)
INTENTS = "INTENT"
"""The shards of `by_due` that hold multisig intents."""


def scope(account_id: str, client_id: str | None) -> str:
    """Whose webhooks: those of a client id, or of the account as a whole."""
    return f"SCOPE#{client_id}" if client_id else f"SCOPE#{account_id}"


def link_key(token: str) -> Key:
    return Key(PAYMENTS, f"LINK#{token}", "LINK")


def request_key(link_token: str, position: int) -> Key:
    return Key(PAYMENTS, f"LINK#{link_token}", f"REQUEST#{position:04}")


def intent_key(link_token: str) -> Key:
    return Key(PAYMENTS, f"LINK#{link_token}", "INTENT")


def request_place_key(request_id: str) -> Key:
    return Key(PAYMENTS, f"REQUEST#{request_id}", "REQUEST")


def reference_key(topic: str) -> Key:
    return Key(PAYMENTS, f"REFERENCE#{topic}", "REFERENCE")


def payments_partition(request_id: str) -> str:
    return f"PAYMENTS#{request_id}"


def strays_partition(request_id: str) -> str:
    return f"STRAYS#{request_id}"


CREDENTIAL_KINDS = {ApiKey: "API_KEY", ClientId: "CLIENT_ID", OrchestratorKey: "ORCHESTRATOR_KEY"}


def credential_key(credential_hash: str, kind: type) -> Key:
    return Key(IDENTITY, f"CREDENTIAL#{credential_hash}", CREDENTIAL_KINDS[kind])


def branding_key(client_id_hash: str) -> Key:
    return Key(IDENTITY, f"CREDENTIAL#{client_id_hash}", "BRANDING")


def account_partition(account_id: str) -> str:
    return f"ACCOUNT#{account_id}"


def account_key(account_id: str) -> Key:
    return Key(IDENTITY, account_partition(account_id), "ACCOUNT")


def owned_key(account_id: str, kind: type, record_id: str) -> Key:
    return Key(IDENTITY, account_partition(account_id), f"{CREDENTIAL_KINDS[kind]}#{record_id[:64]}")


def user_key(name: str) -> Key:
    return Key(IDENTITY, f"USER#{hashlib.sha256(name.encode()).hexdigest()}", "USER")


def destination_key(account_id: str, record_id: str) -> Key:
    return Key(IDENTITY, account_partition(account_id), f"DESTINATION#{record_id}")


def active_destination_key(wallet_address: str) -> Key:
    return Key(IDENTITY, f"WALLET#{wallet_address}", "DESTINATION")


def orchestrator_key(orchestrator_id: str) -> Key:
    return Key(IDENTITY, f"ORCHESTRATOR#{orchestrator_id}", "ORCHESTRATOR")


def linkage_key(orchestrator_id: str, client_id: str) -> Key:
    return Key(IDENTITY, f"ORCHESTRATOR#{orchestrator_id}", f"CLIENT#{client_id[:64]}")


def audit_partition(account_id: str) -> str:
    return f"AUDIT#{account_id}"


def session_key(token_hash: str) -> Key:
    return Key(SESSIONS, f"SESSION#{token_hash}", "SESSION")


def owned_session_key(account_id: str, session_id: str) -> Key:
    return Key(SESSIONS, account_partition(account_id), f"SESSION#{session_id[:64]}")


def challenge_key(challenge_id: str) -> Key:
    return Key(SESSIONS, f"CHALLENGE#{challenge_id[:64]}", "CHALLENGE")


def nonce_key(nonce: str) -> Key:
    return Key(SESSIONS, f"NONCE#{nonce[:64]}", "NONCE")


def block_key(caller: str) -> Key:
    return Key(OPS, f"RATE#block#{caller}", "RATE")


def repeat_key(scope_hash: str) -> Key:
    return Key(OPS, f"REPEAT#{scope_hash}", "REPEAT")


def last_use_key(record_id: str) -> Key:
    return Key(OPS, f"USED#{record_id}", "USED")


def endpoint_key(account_id: str, client_id: str | None, webhook_id: str) -> Key:
    return Key(WEBHOOKS, scope(account_id, client_id), f"ENDPOINT#{webhook_id}")


def endpoint_url_key(account_id: str, client_id: str | None, url: str) -> Key:
    return Key(WEBHOOKS, scope(account_id, client_id), f"URL#{hashlib.sha256(url.encode()).hexdigest()}")


def event_key(event_id: str) -> Key:
    return Key(WEBHOOKS, f"EVENT#{event_id}", "EVENT")


def delivery_key(delivery_id: str) -> Key:
    return Key(WEBHOOKS, f"DELIVERY#{delivery_id}", "DELIVERY")


def cursor_key(network: str) -> Key:
    return Key(OPS, f"CHAIN#{network}", "CURSOR")


def young_payment_prefix(block_number: int) -> str:
    return f"PAYMENT#{block_number:012}"


def key_of(record: Any) -> Key:
    """Where a record is stored."""
    match record:
        case Link():
            return link_key(record.token)
        case Request():
            return request_key(record.link_token, record.position)
        case Reference():
            return reference_key(record.topic)
        case RequestPlace():
            return request_place_key(record.request_id)
        case SafeIntent():
            return intent_key(record.link_token)
        case Payment() | StrayTransfer():
            partition = payments_partition if isinstance(record, Payment) else strays_partition
            place = f"{record.network}#{record.block_hash}#{record.log_index:06}"
            return Key(PAYMENTS, partition(record.request_id), place)
        case Account():
            return account_key(record.account_id)
        case ApiKey():
            return credential_key(record.key_hash, ApiKey)
        case ClientId():
            return credential_key(record.client_id_hash, ClientId)
        case OrchestratorKey():
            return credential_key(record.key_hash, OrchestratorKey)
        case Branding():
            return branding_key(record.client_id_hash)
        case Owned():
            return Key(IDENTITY, account_partition(record.account_id), f"{record.kind}#{record.record_id}")
        case User():
            return user_key(record.name)
        case PayeeDestination():
            return destination_key(record.account_id, record.record_id)
        case ActiveDestination():
            return active_destination_key(record.wallet_address)
        case Orchestrator():
            return orchestrator_key(record.orchestrator_id)
        case Linkage():
            return linkage_key(record.orchestrator_id, record.client_id)
        case AuditEntry():
            return Key(IDENTITY, audit_partition(record.account_id), record.entry_id)
        case Session():
            return session_key(record.token_hash)
        case OwnedSession():
            return owned_session_key(record.account_id, record.session_id)
        case Challenge():
            return challenge_key(record.challenge_id)
        case SigningNonce():
            return nonce_key(record.nonce)
        case Block():
            return block_key(record.caller)
        case Repeatable():
            return repeat_key(record.scope_hash)
        case LastUse():
            return last_use_key(record.record_id)
        case Endpoint():
            return endpoint_key(record.account_id, record.client_id, record.webhook_id)
        case EndpointUrl():
            return endpoint_url_key(record.account_id, record.client_id, record.url)
        case Event():
            return event_key(record.event_id)
        case Delivery():
            return delivery_key(record.delivery_id)
        case Cursor():
            return cursor_key(record.network)
        case YoungPayment():
            place = f"{young_payment_prefix(record.block_number)}#{record.block_hash}#{record.log_index:06}"
            return Key(OPS, f"CHAIN#{record.network}", place)
    raise TypeError(f"{type(record).__name__} is not a stored record")


def due_at(record: Any) -> datetime | None:
    """When `by_due` brings a record up; None keeps it out of the index."""
    match record:
        case Link() if record.status is LinkStatus.ASSEMBLING:
            return record.created_at + ASSEMBLY_TIME
        case Link() if record.status is LinkStatus.PENDING and record.payment_type is not PaymentType.MULTICALL:
            return record.expires_at
        case SafeIntent() if record.status is IntentStatus.PENDING:
            return record.check_at
        case Event() if not record.announced:
            return record.created_at
        case Delivery() if is_open(record):
            return record.due_at
    return None


def vanishes_at(record: Any) -> datetime | None:
    """When DynamoDB may drop a record; None for what stays."""
    match record:
        case Event() | Delivery():
            return record.created_at + EVENT_RETENTION
        case YoungPayment():
            return record.detected_at + YOUNG_PAYMENT_RETENTION
        case Session() | OwnedSession() | Challenge() | SigningNonce() | Repeatable():
            return record.expires_at
        case Block():
            return record.until
        case AuditEntry():
            return record.at + AUDIT_RETENTION
    return None


def due_shard(record: Any) -> str:
    """A stable spread of records over the shards of `by_due`."""
    kind = INTENTS if isinstance(record, SafeIntent) else ""
    return f"{kind}{hashlib.sha256(key_of(record).pk.encode()).digest()[0] % DUE_SHARDS}"
