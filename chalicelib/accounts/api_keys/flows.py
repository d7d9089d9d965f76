"""Creates, changes and revokes API keys."""

from chalicelib.accounts.api_keys.rules import ApiKeySettings, apply_settings, new_api_key, toggle_api_key
from chalicelib.accounts.credentials.flows import add, audit_entry, own_credential, revoke
from chalicelib.base.ids import Source
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.credentials.records import ApiKey
from chalicelib.platform.services import Services


def create_api_key(
    services: Services, actor: Actor, settings: ApiKeySettings, source: Source | None = None
) -> tuple[ApiKey, str]:
    """A new API key of the actor's account: its record, and the key, which is not stored. Raises BadRequest.

    Its id and the key are drawn from `source`, if they were shown before.
    """
    now = services.clock()
    key, text = new_api_key(actor.account_id, settings, now, source or Source(now, services.entropy))
    add(services, actor, key)
    return key, text


def change_api_key(services: Services, actor: Actor, key_id: str, settings: ApiKeySettings | None) -> ApiKey:
    """Changes the settings of a key; without settings, switches it off or on. Raises NotFound, BadRequest."""
    key = own_credential(services, actor.account_id, ApiKey, key_id)
    changed = toggle_api_key(key) if settings is None else apply_settings(key, settings, services.clock())
    services.store.write(changed, audit_entry(services, actor, changed, "updated"))
    return changed


def revoke_api_key(services: Services, actor: Actor, key_id: str) -> None:
    """Revokes a key permanently; it is no longer listed. Raises NotFound."""
    revoke(services, actor, own_credential(services, actor.account_id, ApiKey, key_id))
