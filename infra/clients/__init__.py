"""Makes the packages for clients of the API, in Python and TypeScript, from docs/openapi.json.

    operations.py           reads the document: groups, methods, pages, which models they need
    types.py                writes a schema as a type, in the words of a language
    emit_python.py          writes the module `models`, a TypedDict for each schema, and `client`, a class for a group
    emit_typescript.py      writes src/models.ts and src/client.ts, the same in TypeScript
    python/, typescript/    written by hand: calls, retries, errors, pages, verifying webhooks; what packs the package

A method calls one operation: `client.requests.create(body)`, `client.links.get(token)`. Its arguments are what the path
names, the body, and the query by name, all as the API writes them; it returns the JSON of the response, typed and not
copied. A list with a cursor is an iterator of its entries, and `..._page` returns one page.

`python -m infra.clients` (`make clients`) writes both, and what is to be published, to `.local/clients`.
"""
