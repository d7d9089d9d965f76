"""What the functions of this checkout call is there: a deployment of it would not stop at their modules."""

from infra.configuration import ROOT
from infra.packaging.imports import check_imports


def test_every_job_and_view_of_this_checkout_can_be_imported() -> None:
    check_imports(ROOT, "prod")
