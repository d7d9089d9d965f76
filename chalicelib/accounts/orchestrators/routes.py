"""The operations of orchestrators, the platforms that create links for client ids."""

from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import Operation

OPERATIONS = (
    Operation(
        "POST", "/v2/orchestrators", "create_orchestrator",
        "Register a platform; its key is shown once",
        description="The response has the key (`rawKey`), which cannot be read again.",
        modes=(Mode.SESSION,),
        status=201,
        errors=(400, 401),
        shows_secret=True,
    ),
    Operation(
        "GET", "/v2/orchestrators/client-ids", "list_client_links",
        "List the client ids of a platform, newest link first",
        description="Ended links are listed too, with `revokedAt`.",
        modes=(Mode.ORCHESTRATOR_KEY,),
        errors=(400, 401),
    ),
    Operation(
        "POST", "/v2/orchestrators/client-ids", "link_client_id",
        "Link a client id to a platform, once in its life",
        description="The client id's owner must have admitted the orchestrator by `orchestratorId`.",
        modes=(Mode.ORCHESTRATOR_KEY,),
        status=201,
        errors=(400, 401, 403, 404, 409),
    ),
    Operation(
        "DELETE", "/v2/orchestrators/client-ids/{client_id}", "unlink_client_id",
        "End a link permanently",
        description="The same client id cannot be linked again.",
        modes=(Mode.ORCHESTRATOR_KEY,),
        errors=(401, 404, 409),
    ),
)
