"""Prints what the payment page is: the SHA-256 of each of its files, and of the page without the facts of any link.

    python -m infra.page_hash     # what `make page-hash` runs; README says how to get the same of what is served
"""

import hashlib

from chalicelib.pages import assets, template


def hashes() -> dict[str, str]:
    """SHA-256 by path; `/` is the page, with nothing between its two comments that enclose the facts."""
    files = {"/": "".join(template()), **{f"/pages/{name}": asset.text for name, asset in assets().items()}}
    return {path: hashlib.sha256(text.encode()).hexdigest() for path, text in files.items()}


def main() -> None:
    for path, digest in hashes().items():
        print(f"{digest}  {path}")


if __name__ == "__main__":
    main()
