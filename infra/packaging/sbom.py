"""Writes what a stage ships as a CycloneDX document: every library with its licence, every file with its SHA-256.

    python -m infra.packaging.sbom build/prod    # what `make package` built; writes sbom.json beside the zip files

The files of the document are those of the two zip files, each below the library that brings it. The npm packages of
which the libraries of the pages are made have the hashes of their archives. Prints the licences.
"""

import argparse
import hashlib
import importlib.metadata
import importlib.util
import json
import zipfile
from base64 import b64decode
from collections.abc import Iterator
from datetime import UTC, datetime
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from infra import APP
from infra.packaging.bundle import DATE

DOCUMENT = "sbom.json"
_SITE = "/site-packages/"
_VENDORED = ("chalicelib/pages/dashboard/vendor.json", "chalicelib/pages/payment/walletconnect/vendor.json")
_CLASSIFIER = "License :: "


def write(folder: Path) -> list[tuple[str, str, str]]:
    """Writes the document about the zip files in `folder` beside them; returns (library, version, licence) of each."""
    digest, libraries = hashlib.sha256(), dict[str, Component]()
    for archive in (folder / "deployment.zip", folder / "layer-deployment.zip"):
        digest.update(archive.read_bytes())
        with zipfile.ZipFile(archive) as opened:
            owners = _owners(opened)
            for name in opened.namelist():
                library = owners.get(_source(name)) or _of_code(name)
                parent = libraries.setdefault(library.name, library)
                parent.components.add(_file(archive.name, name, opened.read(name)))
                if name in _VENDORED:
                    libraries |= {each.bom_ref.value or "": each for each in _of_npm(json.loads(opened.read(name)))}
    bom = Bom(components=libraries.values(), serial_number=uuid5(NAMESPACE_URL, digest.hexdigest()))
    bom.metadata.component = root = Component(name=f"{APP} package", type=ComponentType.APPLICATION, bom_ref="package")
    bom.metadata.timestamp = datetime(*DATE, tzinfo=UTC)  # the same package, the same document
    bom.register_dependency(root, libraries.values())
    JsonV1Dot6(bom).output_to_file(str(folder / DOCUMENT), allow_overwrite=True, indent=1)
    return sorted((_name(each), each.version or "", _licence(each)) for each in libraries.values())


def _owners(archive: zipfile.ZipFile) -> dict[str, Component]:
    """File -> library, by the lists of files that wheels bring."""
    owners = {}
    for name in archive.namelist():
        if name.endswith(".dist-info/RECORD"):
            site = name[: name.index(_SITE) + len(_SITE)]
            metadata = HeaderParser().parsestr(archive.read(name.replace("RECORD", "METADATA")).decode())
            library = _library(metadata)
            for line in archive.read(name).decode().splitlines():
                owners[site + line.rsplit(",", 2)[0].strip('"')] = library
    return owners


def _of_code(name: str) -> Component:
    """What brings a file of the functions' zip file: Chalice or this project."""
    if name.startswith("chalice/"):
        return _library(HeaderParser().parsestr(importlib.metadata.distribution("chalice").read_text("METADATA") or ""))
    licences = [LicenseFactory().make_from_string("MIT")]
    return Component(name=APP, type=ComponentType.APPLICATION, bom_ref=APP, licenses=licences)


def _library(metadata: Message) -> Component:
    name, version = metadata["Name"], metadata["Version"]
    classified = [each for each in metadata.get_all("Classifier", ()) if each.startswith(_CLASSIFIER)]
    named = " and ".join(each.rpartition(" :: ")[2] for each in classified)
    licence = metadata["License-Expression"] or named or metadata["License"]
    purl = PackageURL("pypi", name=name.lower(), version=version)
    return Component(
        name=name,
        version=version,
        purl=purl,
        bom_ref=purl.to_string(),
        licenses=[LicenseFactory().make_from_string((licence or "unknown").splitlines()[0])],
    )


def _of_npm(vendored: dict[str, Any]) -> Iterator[Component]:
    """The packages of a vendor.json. Their `integrity` is that of npm's lock files: the SHA-512 of the archive."""
    for whole, package in vendored["packages"].items():
        scope, _, name = whole.rpartition("/")
        purl = PackageURL("npm", scope or None, name, package["version"])
        content = b64decode(package["integrity"].removeprefix("sha512-")).hex()
        yield Component(
            name=name,
            group=scope or None,
            version=package["version"],
            purl=purl,
            bom_ref=purl.to_string(),
            licenses=[LicenseFactory().make_from_string(package["license"])],
            hashes=[HashType(alg=HashAlgorithm.SHA_512, content=content)],
        )


def _name(component: Component) -> str:
    return f"{component.group}/{component.name}" if component.group else component.name


def _licence(component: Component) -> str:
    return ", ".join(str(getattr(each, "value", None) or each.id or each.name) for each in component.licenses)


def _source(name: str) -> str:
    """The module of a file with bytecode; any other file itself."""
    return importlib.util.source_from_cache(name) if name.endswith(".pyc") else name


def _file(archive: str, name: str, content: bytes) -> Component:
    digest = HashType(alg=HashAlgorithm.SHA_256, content=hashlib.sha256(content).hexdigest())
    return Component(name=name, group=archive, type=ComponentType.FILE, hashes=[digest], bom_ref=f"{archive}/{name}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m infra.packaging.sbom", description="List what a stage ships.")
    parser.add_argument("folder", type=Path, help="what `make package` built, such as build/prod")
    folder = parser.parse_args().folder
    if not (folder / "deployment.zip").exists():
        parser.error(f"{folder} has no deployment.zip: run `make package` first")
    for name, version, licence in write(folder):
        print(f"{name:<24} {version:<12} {licence}")
    print(f"Written to {folder / DOCUMENT}")


if __name__ == "__main__":
    main()
