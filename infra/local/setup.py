"""Creates the virtual environments and npm packages of the project. Uses the system's python3 and standard library.

    python3 infra/local/setup.py

creates `.venv` (the project and its tests), `.local/cloud-venv` (the local cloud, which pins other versions) and
`infra/local/node_modules` (the local chain) with `tests/oracles/payments/node_modules` (a builder of payments, which
pins other versions) in parallel, unless they are up to date, and compiles our own contracts. Each has a stamp file,
written last, with the hash of the files it was made from, so an interrupted run can be repeated. With CI=true it also
installs Debian's Chromium if there is no browser. A problem (an old Python, no network) is one sentence with exit
status 2.
"""
# No syntax newer than Python 3.6, so that an old Python can run this file as far as the message that it is too old.

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
from typing import Callable, Dict, List, Optional, Set, Tuple

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LOCAL = os.path.join(ROOT, ".local")
NPM_FOLDERS = ("infra/local", "tests/oracles/payments")
OLDEST, NEWEST = (3, 11), (3, 13)  # coincurve, which tronpy holds below 21 there, has no wheel for 3.14
# The headless shell, which has no windows, starts and shows pages with less work than the others.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "/usr/bin/chromium")
BROWSER_COMMAND = "apt-get update && apt-get install -y chromium-headless-shell"
MISSING_BROWSER = "No browser was found; on Debian, as root, `%s` brings one." % BROWSER_COMMAND
NETWORK_SIGNS = (
    "failed to establish a new connection", "name resolution", "name or service not known", "connection refused",
    "max retries exceeded", "network is unreachable", "read timed out", "connection broken", "remote end closed",
    "getaddrinfo", "enotfound", "econnrefused", "econnreset", "eai_again", "etimedout", "socket timeout",
)  # fmt: skip


class Problem(Exception):
    """The setup cannot continue. The message is one sentence."""


class Part:
    """One thing to install: its folder, the files that define its content, and the version of Python."""

    def __init__(self, label: str, folder: str, inputs: List[str], python: str = "") -> None:
        self.label, self.folder, self.python = label, os.path.join(ROOT, folder), python
        self.log = os.path.join(LOCAL, "setup-" + os.path.basename(folder).strip(".") + ".log")
        self.stamp = os.path.join(self.folder, ".stamp")
        digest = hashlib.sha256()
        for name in inputs:
            with open(os.path.join(ROOT, name), "rb") as file:
                digest.update(file.read())
        self.wanted = {"inputs": digest.hexdigest(), "python": python}

    def read_stamp(self) -> Dict[str, str]:
        """The stamp of the last complete run, `{}` if there was none."""
        try:
            with open(self.stamp) as file:
                stamp: Dict[str, str] = json.load(file)
                return stamp
        except (OSError, ValueError):
            return {}

    def ready(self) -> bool:
        return self.read_stamp() == self.wanted and (not self.python or os.path.exists(self.bin("python")))

    def bin(self, name: str) -> str:
        return os.path.join(self.folder, "bin", name)

    def write_stamp(self) -> None:
        with open(self.stamp + ".new", "w") as file:
            json.dump(self.wanted, file)
        os.replace(self.stamp + ".new", self.stamp)


class Browser(Part):
    """The machine's browser, for the tests of the payment page. It is only installed in CI."""

    def ready(self) -> bool:
        return os.environ.get("CI") != "true" or find_browser() is not None


def find_browser() -> Optional[str]:
    """The path of a browser for the tests: that of the variable CHROMIUM, or an installed one; None without one."""
    return next(filter(None, map(shutil.which, (os.environ.get("CHROMIUM") or "",) + BROWSERS)), None)


class Shell:
    """Runs the commands of all parts, writes their output to log files, and ends all if one part fails."""

    def __init__(self) -> None:
        self.running: Set["subprocess.Popen[bytes]"] = set()
        self.lock, self.stopped = threading.Lock(), False
        dropped = (
            "PYTHONPATH",
            "PYTHONHOME",
            "PIP_USER",
            "PIP_TARGET",
            "PIP_PREFIX",
            "PIP_REQUIRE_VIRTUALENV",
        )
        self.env = {name: value for name, value in os.environ.items() if name not in dropped}

    def run(self, part: Part, command: List[str], cwd: str = ROOT, path: str = "") -> None:
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
    """The sentence for a command that failed, from its log."""
    with open(part.log, errors="replace") as file:
        lines = file.read().splitlines()
    where = os.path.relpath(part.log, ROOT)
    if any(sign in line.lower() for line in lines for sign in NETWORK_SIGNS):
        sentence = "no package registry answered while installing %s: is there a network? (log: %s)"
        return sentence % (part.label, where)
    errors = [line for line in lines if "error" in line.lower()] or lines[-1:] or ["it said nothing"]
    return "installing %s failed: %s (log: %s)" % (part.label, errors[-1].strip().rstrip("."), where)


def check_python() -> None:
    here = "%d.%d.%d" % sys.version_info[:3]
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        found = [name for name in ("python3.13", "python3.12", "python3.11") if shutil.which(name)]
        hint = "run `make PYTHON=%s ...`" % found[0] if found else "install one and run `make PYTHON=python3.12 ...`"
        raise Problem("Python 3.11, 3.12 or 3.13 is needed and %s is Python %s: %s" % (sys.executable, here, hint))
    for name in ("venv", "ensurepip"):
        if importlib.util.find_spec(name) is None:
            hint = "on Debian and Ubuntu `apt install python%d.%d-venv` brings it" % sys.version_info[:2]
            raise Problem("the module %s of Python %s is missing: %s" % (name, here, hint))


def make_venv(shell: Shell, part: Part) -> None:
    """Creates the environment, unless there is a complete one of the same Python, which only needs an update."""
    if part.read_stamp().get("python") == part.python and os.path.exists(part.bin("python")):
        os.remove(part.stamp)
    else:
        shutil.rmtree(part.folder, ignore_errors=True)
        shell.run(part, [sys.executable, "-m", "venv", part.folder])


def pip(part: Part, *packages: str) -> List[str]:
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
    return [part.bin("python"), "-m", "pip", "install"] + options + list(packages)


def find_npm(shell: Shell, part: Part, venv: Part) -> Tuple[str, str]:
    """(npm, folder for PATH): the machine's npm if it is version 7 or newer (lock files), else the one from PyPI."""
    npm = shutil.which("npm")
    if npm and shutil.which("node"):
        result = subprocess.run([npm, "--version"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        major = result.stdout.decode().split(".")[0]
        if result.returncode == 0 and major.isdigit() and int(major) >= 7:
            return npm, ""
    shell.run(part, pip(venv, "--require-hashes", "-r", "infra/local/node.lock"))  # from PyPI
    return venv.bin("npm"), os.path.dirname(venv.bin("npm"))


def install_venv(shell: Shell, venv: Part, venv_created: threading.Event) -> None:
    make_venv(shell, venv)
    venv_created.set()
    shell.run(venv, pip(venv, "--require-hashes", "-r", "tests/requirements.lock"))


def install_cloud(shell: Shell, cloud: Part) -> None:
    make_venv(shell, cloud)
    shell.run(cloud, pip(cloud, "--require-hashes", "-r", "infra/local/requirements.lock"))


def install_chain(shell: Shell, chain: Part, venv: Part, venv_created: threading.Event) -> None:
    venv_created.wait()  # npm may have to be installed there
    npm, path = find_npm(shell, chain, venv)
    for folder in NPM_FOLDERS:
        modules = os.path.join(ROOT, folder, "node_modules")
        if os.path.islink(modules):  # npm would empty the folder of another checkout
            os.remove(modules)
    if os.path.exists(chain.stamp):
        os.remove(chain.stamp)
    retries = ["--fetch-retries=2", "--fetch-retry-factor=2", "--fetch-retry-mintimeout=1000", "--fetch-timeout=60000"]
    for folder in NPM_FOLDERS:
        shell.run(chain, [npm, "ci"] + retries, cwd=os.path.join(ROOT, folder), path=path)
    shell.run(chain, [sys.executable, "-m", "infra.local.compiling"], path=path)


def install_browser(shell: Shell, browser: Part) -> None:
    os.makedirs(browser.folder, exist_ok=True)
    shell.run(browser, ["sh", "-c", "export DEBIAN_FRONTEND=noninteractive; " + BROWSER_COMMAND])


def install_missing(shell: Shell, venv: Part, cloud: Part, chain: Part, browser: Part) -> None:
    """Installs the parts that are not ready, each in a thread. Raises the first problem after all have ended."""
    venv_created, problems = threading.Event(), []

    def install(part: Part, steps: Callable[..., None], *arguments: object) -> None:
        started = time.time()
        try:
            steps(shell, part, *arguments)
            part.write_stamp()
            print("setup: %s ready in %.1f s" % (part.label, time.time() - started), flush=True)
        except (Problem, OSError) as problem:
            problems.append(problem)
            shell.stop()
        finally:
            if part is venv:
                venv_created.set()

    if venv.ready():
        venv_created.set()
    work = ((venv, install_venv, venv_created), (cloud, install_cloud), (chain, install_chain, venv, venv_created),
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
    if problems:
        raise problems[0]


def setup() -> None:
    check_python()
    python = "%d.%d" % sys.version_info[:2]
    parts = (
        Part("the Python packages (.venv)", ".venv", ["tests/requirements.lock"], python),
        Part("the local cloud (.local/cloud-venv)", ".local/cloud-venv", ["infra/local/requirements.lock"], python),
        Part("the local chain (infra/local/node_modules)", "infra/local/node_modules",
             [folder + name for folder in NPM_FOLDERS for name in ("/package.json", "/package-lock.json", "/.npmrc")]),
        Browser("a browser (Debian's chromium)", ".local/browser", []),
    )  # fmt: skip
    if all(part.ready() for part in parts):
        return
    import fcntl  # imported here, as it is only needed to install something

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
