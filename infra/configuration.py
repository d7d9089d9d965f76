"""What .chalice/config.json says: the stages, their settings and their functions, as Chalice reads them."""

import json
from pathlib import Path
from typing import Any

from infra.local.pythons import HERE

ROOT = Path(__file__).resolve().parents[1]
CHALICE_DIR = ROOT / ".chalice"


def config(project: Path = ROOT) -> dict[str, Any]:
    """The whole file of a project, by default of this checkout."""
    read: dict[str, Any] = json.loads((project / ".chalice" / "config.json").read_text())
    return read


def stages() -> list[str]:
    """The names of the stages."""
    return list(config()["stages"])


def variables_of(stage: str) -> dict[str, str]:
    """The environment variables of a stage."""
    read = config()
    return {**read["environment_variables"], **read["stages"][stage]["environment_variables"]}


def functions_of(stage: str) -> dict[str, dict[str, Any]]:
    """Each function's memory in MB, timeout in seconds and policy file: what is said for all, then for the function,
    then for the function in this stage."""
    read = config()
    for_all = {name: read[name] for name in ("lambda_memory_size", "lambda_timeout")}
    own = read["stages"][stage].get("lambda_functions", {})
    return {name: {**for_all, **said, **own.get(name, {})} for name, said in read["lambda_functions"].items()}


def python_of(read: dict[str, Any], stage: str) -> str:
    """The version of Python that the functions of a stage run on, by the configuration `read` of a project.

    That of the stage, else that of all; stage local has no version by default, and runs on this one. A build of the
    time before configurations had one was for 3.11.
    """
    own = read["stages"][stage].get("lambda_python")
    return str(own or (HERE if stage == "local" else read.get("lambda_python", "3.11")))


def architecture_of(own: dict[str, Any]) -> str:
    """The architecture of the functions of a stage, by its part of the configuration."""
    return str(own.get("lambda_architecture", "x86_64"))


def concurrency_of(own: dict[str, Any]) -> int:
    """How many functions the AWS account of a stage runs at once, by the stage's part of the configuration."""
    return int(own.get("concurrency", 1_000))
