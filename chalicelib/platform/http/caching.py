"""Responses that browsers keep: files and pages that change only with the code."""

from collections.abc import Mapping

from chalicelib.platform.http.responses import HttpResponse
from chalicelib.platform.http.view import Visit

_FOREVER = "public, max-age=31536000, immutable"


def respond_with_file(
    visit: Visit, text: str, version: str, headers: Mapping[str, str], *, has_version_in_path: bool = False
) -> HttpResponse:
    """Returns a file: cacheable for a year if the URL names its version, else to be revalidated; 304 if unchanged.

    The ETag is weak (RFC 9110, 8.8.1): API Gateway may compress the body and leaves these headers as they are.
    """
    tag = f'"{version}"'
    is_named = has_version_in_path or visit.query("v") == version
    all_headers = {
        **headers,
        "ETag": f"W/{tag}",
        "Cache-Control": _FOREVER if is_named else "no-cache",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Vary": "Accept-Encoding",
    }
    known_tags = {each.strip().removeprefix("W/") for each in visit.header("if-none-match").split(",")}
    is_unchanged = bool(known_tags & {tag, "*"})
    return HttpResponse(304, "", all_headers) if is_unchanged else HttpResponse(200, text, all_headers)
