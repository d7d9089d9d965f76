"""The response headers of a page of this service: which scripts, styles and hosts its browser may use."""

_HTTPS_ONLY = "max-age=63072000"


def headers_of(
    url: str, scripts: str, styles: str, hosts: str = "'self'", ancestors: str = "'none'", frames: str = ""
) -> dict[str, str]:
    """Returns the headers of a page below `url`: no text is HTML or a script, no form leaves the page.

    The others are sources as Content-Security-Policy has them: of scripts besides its own, of styles, of what scripts
    may call, who may show it in a frame, and of its own frames.
    """
    policy = {
        "default-src": "'none'",
        "script-src": f"'self' {scripts}",
        "style-src": styles,
        "img-src": "'self' data:",
        "connect-src": hosts,
        **({"frame-src": frames} if frames else {}),
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": ancestors,
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }
    secured = {"Strict-Transport-Security": _HTTPS_ONLY} if url.startswith("https:") else {}
    return {
        **secured,
        "Content-Type": "text/html; charset=utf-8",
        "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
        "Cache-Control": "no-store",
        "Cross-Origin-Opener-Policy": "same-origin-allow-popups",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }
