"""The routes of the hosted payment page."""

from chalicelib.platform.http.operation import PageRoute

PAGES = (
    PageRoute("/", "show_page"),
    PageRoute("/pages/{name}", "show_asset"),
    PageRoute("/pages/locales/{name}", "show_locale"),
    PageRoute("/pages/qr.svg", "show_code"),
    PageRoute("/pages/logos/{name}", "show_logo"),
)
