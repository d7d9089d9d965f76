"""The keys of the service's own account in a local cloud, used by real calls of KMS and Secrets Manager."""

import pytest

from chalicelib.platform.storage.secrets import SigningKeys
from infra.local.cloud import Cloud
from tests.fakes.world import PREFIX


def keys_in(cloud: Cloud) -> SigningKeys:
    """The keys that the template makes. Their clients are opened while the environment names the cloud."""
    with pytest.MonkeyPatch.context() as environment:
        for name, value in cloud.environment().items():
            environment.setenv(name, value)
        found = SigningKeys(f"alias/{PREFIX}-relayer", f"{PREFIX}-relayer-key")
        assert found.public_key and found.private_key and found.sign(bytes(32))
        return found
