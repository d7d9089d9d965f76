"""What responses about payments have in common."""

from typing import Annotated

from pydantic import Field

from chalicelib.platform.http.schemas import unsent

StatedAmount = Annotated[
    str,
    Field(
        default_factory=unsent,
        description="What the payment itself says was paid, in units of the token; absent if that arrived. A token "
        "that keeps a part of what it moves pays less",
    ),
]
"""As `chalicelib.payments.requests.rules.stated_field` gives it."""
