"""The local AWS: ministack as a child process, and the environment variables for its clients."""

import contextlib
import json
import shutil
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from infra.local.process import LOCAL, Child, StackProblem, Stoppable, free_port, is_free

REGION = "us-east-1"
PYTHON = LOCAL / "cloud-venv" / "bin" / "python"
_LAUNCHER = Path(__file__).with_name("ministack_launcher.py")


class Cloud(Stoppable):
    """A running local cloud."""

    def __init__(self, child: Child, port: int, scratch: Path) -> None:
        self.child, self.url, self._scratch = child, f"http://127.0.0.1:{port}", scratch

    @classmethod
    def start(
        cls,
        state: Path | None = None,
        port: int | None = None,
        log: Path | None = None,
        pass_fds: Sequence[int] = (),
    ) -> Self:
        """Starts ministack. With the folder `state` its data survives a restart; without, it is kept in memory only.

        Raises StackProblem if the port is in use or ministack does not start.
        """
        if port is not None and not is_free(port):
            raise StackProblem(f"port {port} of the local cloud is already in use")
        port = port or free_port()
        folder = state or LOCAL / "tmp" / f"cloud-{port}"
        workers = folder / "tmp"  # Lambda workers unpack the package here, a hundred megabytes each
        shutil.rmtree(workers, ignore_errors=True)
        workers.mkdir(parents=True)
        scratch = workers if state else folder
        env = {
            "BIND_HOST": "127.0.0.1",
            "GATEWAY_PORT": str(port),
            "PERSIST_STATE": "1" if state else "0",
            "STATE_DIR": str(folder),
            "TMPDIR": str(workers),
            "LAMBDA_EXECUTOR": "local",
            "IOT_MTLS_ENABLED": "0",  # its broker of MQTT would listen on every address of the machine
            "LOG_LEVEL": "WARNING",
        }
        command = [str(PYTHON), str(_LAUNCHER)]
        child = Child("the local cloud", command, log or folder / "cloud.log", env, pass_fds, scratch)
        cloud = cls(child, port, scratch)
        with child.starting():
            child.wait_until(cloud._is_healthy)
        return cloud

    def environment(self) -> dict[str, str]:
        """The variables by which boto3 and the chalice command use this cloud."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": REGION,
        }

    def client(self, service: str) -> Any:
        """A boto3 client of this cloud, independent of the environment variables."""
        import boto3

        return boto3.client(
            service,
            endpoint_url=self.url,
            region_name=REGION,
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )

    def apply_template(self, prefix: str) -> None:
        """Creates or updates the stack `payment-requests-<stage>` from infra/template.py, and waits for it."""
        from infra import APP
        from infra.stack import DeploymentStopped, apply_stack

        try:
            apply_stack(self.client("cloudformation"), prefix.removeprefix(f"{APP}-"))
        except DeploymentStopped as stopped:
            raise StackProblem(f"the local cloud refused the template: {stopped}") from stopped

    def put_rpc_urls(self, prefix: str, urls: dict[str, str]) -> None:
        """Stores the URLs of the nodes for the service: {network: JSON-RPC URL}."""
        text = json.dumps(urls, sort_keys=True)
        self.client("secretsmanager").put_secret_value(SecretId=f"{prefix}-rpc-urls", SecretString=text)

    def verify_sender(self, address: str) -> None:
        """Has SES accept messages from an address, as the owner of its domain does in AWS."""
        client = self.client("sesv2")
        with contextlib.suppress(client.exceptions.AlreadyExistsException):
            client.create_email_identity(EmailIdentity=address)

    def mails(self) -> list[dict[str, Any]]:
        """Every message that SES was given since the cloud started, the oldest first."""
        with urllib.request.urlopen(f"{self.url}/_ministack/ses/messages", timeout=5) as response:
            by_account: dict[str, list[dict[str, Any]]] = json.load(response)["messages"]
        return [message for messages in by_account.values() for message in messages]

    def stop(self) -> None:
        """Ends ministack and removes the unpacked packages; without `state`, all its files."""
        self.child.stop()
        shutil.rmtree(self._scratch, ignore_errors=True)  # the guard keeps it if ministack ended by itself

    def _is_healthy(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/_ministack/health", timeout=5) as response:
                return bool(response.status == 200) and self.child.running()
        except (urllib.error.URLError, OSError):
            return False
