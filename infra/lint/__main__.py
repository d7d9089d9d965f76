"""Checks the templates of all stacks by cfn-lint and checkov, as CloudFormation gets them: `make lint-infra`."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from infra.stacks import split_into_stacks
from infra.template import whole_template

TOOLS = Path(".local/lint-venv/bin")
CHECKOV = Path(__file__).with_name("checkov.yaml")
UNUSED_PARAMETER = "W2001"
"""The stacks of one template have the same parameters, also those that one of them does not use."""


def main() -> int:
    """Returns the status: 0 if neither finds anything."""
    with tempfile.TemporaryDirectory() as folder:
        for end, template in split_into_stacks(whole_template()).items():
            Path(folder, f"stack{end}.json").write_text(json.dumps(template, indent=1))
        files = sorted(map(str, Path(folder).iterdir()))
        found = [
            subprocess.run([TOOLS / "cfn-lint", "--ignore-checks", UNUSED_PARAMETER, "--", *files], check=False),
            subprocess.run([TOOLS / "checkov", "--config-file", CHECKOV, "-d", folder], check=False),
        ]
    return int(any(each.returncode for each in found))


if __name__ == "__main__":
    sys.exit(main())
