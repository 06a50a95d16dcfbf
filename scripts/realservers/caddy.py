"""caddy: HTTP/3, and what servers announce of it."""

import json
from pathlib import Path

PORTS = [
    # HTTP/3 beside the others, at the same port; caddy announces it itself.
    "CADDY",
    # Announces CADDY's HTTP/3, and has none itself.
    "CADDY_ELSEWHERE",
    # Announces HTTP/3 at its own port, where nothing answers by UDP.
    "CADDY_BROKEN",
    # Announces it at a port where nothing answers at all.
    "CADDY_BROKEN_ELSEWHERE",
    # Announces a server that does not want to speak for it.
    "CADDY_MISDIRECTED",
    "CADDY_STRANGER",
    # Announces nothing, and has no HTTP/3.
    "CADDY_SILENT",
]


def server(port, routes, http3=False, announces=None):
    if announces:
        header = {"handler": "headers", "response": {"set": {"Alt-Svc": [announces]}}}
        routes = [{"handle": [header]}, *routes]
    return {
        "listen": [f"127.0.0.1:{port}"],
        "protocols": ["h1", "h2", "h3"] if http3 else ["h1", "h2"],
        "automatic_https": {"disable": True},
        "tls_connection_policies": [{}],
        "routes": routes,
    }


def proxy(address, **transport):
    return {
        "handler": "reverse_proxy", "flush_interval": -1, "upstreams": [{"dial": address}],
        "transport": {"protocol": "http", **transport},
    }


def configuration(folder: Path, ports: dict, pair, nginx: str, nghttpd: str, closed: str):
    key, certificate = pair
    whole = [
        {
            # Without another server behind: for measurements.
            "match": [{"path": ["/files/*"]}],
            "handle": [
                {"handler": "rewrite", "strip_path_prefix": "/files"},
                {"handler": "file_server", "root": str(folder / "files")},
            ],
        },
        {"match": [{"path": ["/protocol"]}], "handle": [{"handler": "static_response", "body": "{http.request.proto}"}]},
        {"match": [{"path": ["/echo"]}], "handle": [proxy(nghttpd, versions=["h2c"])]},
        {"handle": [proxy(nginx)]},
    ]
    return json.dumps({
        "admin": {"disabled": True},
        "logging": {"logs": {"default": {"level": "WARN"}}},
        "storage": {"module": "file_system", "root": str(folder / "caddy")},
        "apps": {
            "tls": {"certificates": {"load_files": [{"certificate": str(certificate), "key": str(key)}]}},
            "http": {"servers": {
                "whole": server(ports["CADDY"], whole, http3=True),
                "elsewhere": server(ports["CADDY_ELSEWHERE"], whole, announces=f'h3=":{ports["CADDY"]}"; ma=600'),
                "broken": server(ports["CADDY_BROKEN"], whole, announces=f'h3=":{ports["CADDY_BROKEN"]}"; ma=600'),
                "broken_elsewhere": server(
                    ports["CADDY_BROKEN_ELSEWHERE"], whole, announces=f'h3="127.0.0.1:{closed}"; ma=600'),
                "misdirected": server(
                    ports["CADDY_MISDIRECTED"], whole, announces=f'h3=":{ports["CADDY_STRANGER"]}"; ma=600'),
                "stranger": server(
                    ports["CADDY_STRANGER"],
                    [{"handle": [{"handler": "static_response", "status_code": 421, "body": "not mine"}]}], http3=True),
                "silent": server(ports["CADDY_SILENT"], whole),
            }},
        },
    }, indent=1)
