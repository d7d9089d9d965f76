"""Makes and reads the data keys of persons. A plain key is kept in no container: each use asks the table and KMS.

So nothing that a person's key sealed can be read once its record is deleted, by no process and from no backup: the
table of keys has none.
"""

import base64

from chalicelib.platform.privacy import store
from chalicelib.platform.privacy.records import PersonKey
from chalicelib.platform.privacy.rules import KEY_BYTES
from chalicelib.platform.services import Services


def new_key(services: Services, person_id: str) -> tuple[PersonKey, bytes]:
    """A new data key of a person: its record, which the caller writes, and the plain key. One KMS call."""
    key = services.entropy(KEY_BYTES)
    wrapped = services.secrets.encrypt(base64.b64encode(key).decode(), _owner(person_id))
    return PersonKey(person_id, wrapped, services.clock()), key


def data_key(services: Services, person_id: str) -> bytes | None:
    """The plain data key of a person; None if it was destroyed. One read, one KMS call."""
    found = store.person_key(services.store, person_id)
    return None if found is None else base64.b64decode(services.secrets.decrypt(found.wrapped, _owner(person_id)))


def _owner(person_id: str) -> str:
    """The owner that KMS encrypts for. The policies of the functions name this prefix (infra/iam.py)."""
    return f"person#{person_id}"
