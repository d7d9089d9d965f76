"""The app that cold starts are compared with: Chalice with one route and a boto3 DynamoDB client."""

import boto3
from chalice import Chalice

app = Chalice(app_name="bare")
client = boto3.client("dynamodb")


@app.route("/")
def index() -> dict[str, bool]:
    return {"ok": True}
