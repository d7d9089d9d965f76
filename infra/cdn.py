"""CloudFront in front of the payment page: `"cdn"` in the `"hosts"` of a stage in .chalice/config.json.

The distribution keeps the page's files, whose names contain their hashes, for as long as their `Cache-Control` says. It
passes on everything else, and keeps nothing of it: path, query, body and every header of the caller, `Host` among
them, by which API Gateway finds the domain and the service the page. It changes no response.

It states the caller's address in the header that TRUSTED_PROXY_HEADER names. API Gateway still answers whoever calls it
directly, so the name of that header is a secret: who does not know it cannot state another address.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

REGION = "us-east-1"
"""Where CloudFront looks for certificates."""
HOSTED_ZONE = "Z2FDTNDATAQYW2"
"""The zone of every distribution, for DNS records that are aliases."""
FILES = ("/pages/*.js", "/pages/locales/*")
"""What is kept: no other path below `/pages/` is served with a name that contains its hash."""
SECRET_HEADER = re.compile(r"x-[a-z0-9-]*[0-9a-f]{32}[a-z0-9-]*")
NEVER_KEPT = "4135ea2d-6df8-44a3-9df3-4b5a84be39ad"
"""The cache policy CachingDisabled of AWS."""
PASSED_ON = "216adef6-5c7f-47e4-b989-5492eafa07d3"
"""The origin request policy AllViewer of AWS: all headers, with those that a function has set, cookies and queries."""
_YEAR = 31_536_000
_READING = ["GET", "HEAD", "OPTIONS"]
_ERRORS = (400, 403, 404, 405, 414, 416, 500, 501, 502, 503, 504)
"""Which CloudFront would otherwise keep for ten seconds: so long would a file of a new deployment be missing."""


def resources(name: str, host: str, origin: object, certificate: str, header: str) -> Mapping[str, Any]:
    """The distribution `Cdn` of a host, whose requests go to `origin`, and what it needs; `name` begins their names."""
    config = {"Comment": name, "Aliases": [host], "Origins": [_origin(origin)]}
    viewer = {
        "AcmCertificateArn": certificate,
        "MinimumProtocolVersion": "TLSv1.2_2021",
        "SslSupportMethod": "sni-only",
    }
    return {
        "CdnCaller": _caller(name, header),
        "CdnFiles": _files_policy(name),
        "Cdn": {
            "Type": "AWS::CloudFront::Distribution",
            "Properties": {
                "DistributionConfig": {
                    **config,
                    **_behaviors(),
                    "Enabled": True,
                    "HttpVersion": "http2and3",
                    "IPV6Enabled": True,
                    "ViewerCertificate": viewer,
                    "CustomErrorResponses": [{"ErrorCode": each, "ErrorCachingMinTTL": 0} for each in _ERRORS],
                }
            },
        },
    }


def _caller(name: str, header: str) -> Mapping[str, Any]:
    return {
        "Type": "AWS::CloudFront::Function",
        "Properties": {
            "Name": f"{name}-caller",
            "AutoPublish": True,
            "FunctionConfig": {"Comment": "States the caller's address", "Runtime": "cloudfront-js-2.0"},
            "FunctionCode": caller_function(header),
        },
    }


def _files_policy(name: str) -> Mapping[str, Any]:
    """How long files are kept: as long as their headers say."""
    return {
        "Type": "AWS::CloudFront::CachePolicy",
        "Properties": {
            "CachePolicyConfig": {
                "Name": f"{name}-files",
                "MinTTL": 0,
                "DefaultTTL": 0,
                "MaxTTL": _YEAR,
                "ParametersInCacheKeyAndForwardedToOrigin": {
                    "EnableAcceptEncodingGzip": True,
                    "EnableAcceptEncodingBrotli": True,
                    "HeadersConfig": {"HeaderBehavior": "none"},
                    "CookiesConfig": {"CookieBehavior": "none"},
                    "QueryStringsConfig": {"QueryStringBehavior": "none"},
                },
            }
        },
    }


def _origin(origin: object) -> Mapping[str, Any]:
    return {
        "Id": "api",
        "DomainName": origin,
        "CustomOriginConfig": {"OriginProtocolPolicy": "https-only", "OriginSSLProtocols": ["TLSv1.2"]},
    }


def _behaviors() -> Mapping[str, Any]:
    """Files are kept, and anything else is passed on with all that its caller sent."""
    function = {"Fn::GetAtt": ["CdnCaller", "FunctionMetadata.FunctionARN"]}
    passed_on = {
        "TargetOriginId": "api",
        "ViewerProtocolPolicy": "https-only",
        "OriginRequestPolicyId": PASSED_ON,
        "FunctionAssociations": [{"EventType": "viewer-request", "FunctionARN": function}],
    }
    kept = {**passed_on, "AllowedMethods": _READING, "CachePolicyId": {"Ref": "CdnFiles"}, "Compress": True}
    changing = {"AllowedMethods": [*_READING, "PUT", "PATCH", "POST", "DELETE"], "CachePolicyId": NEVER_KEPT}
    return {
        "DefaultCacheBehavior": {**passed_on, **changing},
        "CacheBehaviors": [{**kept, "PathPattern": pattern} for pattern in FILES],
    }


def caller_function(header: str) -> str:
    """The function that states the caller's address, whatever the caller has sent in that header."""
    return (
        "function handler(event) {\n"
        f"  event.request.headers[{json.dumps(header.lower())}] = {{ value: event.viewer.ip }};\n"
        "  return event.request;\n"
        "}\n"
    )
