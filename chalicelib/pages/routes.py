"""The routes of the hosted payment page, of the dashboard and of what wallets read."""

from chalicelib.platform.http.operation import PageRoute

ROUTES = {
    "api": (
        PageRoute("/", "show_page"),
        PageRoute("/pages/{name}", "show_asset"),
        PageRoute("/pages/locales/{name}", "show_locale"),
        PageRoute("/pages/qr.svg", "show_code"),
        PageRoute("/pages/receipt.json", "show_receipt"),
        PageRoute("/pages/logos/{name}", "show_logo"),
        PageRoute("/dashboard", "show_dashboard"),
        PageRoute("/dashboard/{view}", "show_dashboard"),
        PageRoute("/dashboard/{view}/{id}", "show_dashboard"),
        PageRoute("/dashboard-preview", "show_preview"),
        PageRoute("/dashboard/files/{name}", "show_dashboard_file"),
        PageRoute("/clear-signing", "show_descriptors"),
        PageRoute("/clear-signing/{name}", "show_descriptor"),
    ),
}
