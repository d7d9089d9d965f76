"""What the start is compared with: a Chalice app with a boto3 DynamoDB client and one route, as one would begin it."""

import boto3
from chalice import Chalice

app = Chalice(app_name="bare")
client = boto3.client("dynamodb")


@app.route("/")
def index() -> dict[str, bool]:
    return {"ok": True}
