"""caddy: HTTP/3, and what servers announce of it."""

import base64
import json
import ssl
from pathlib import Path

# Servers whose certificate is wrong in one way each.
FAULTS = {
    "CADDY_EXPIRED": "expired",
    "CADDY_NOT_YET_VALID": "not_yet_valid",
    "CADDY_WRONG_HOST": "wrong_host",
    "CADDY_UNKNOWN_CA": "unknown_ca",
    "CADDY_REVOKED": "revoked",
}

PORTS = [
    # HTTP/3 at the same port; caddy announces it itself.
    "CADDY",
    # Announces CADDY's HTTP/3, and has none itself.
    "CADDY_ELSEWHERE",
    # Announces HTTP/3 at its own port, which has no UDP listener.
    "CADDY_BROKEN",
    # Announces HTTP/3 at a port without any listener.
    "CADDY_BROKEN_ELSEWHERE",
    # Announces a server that does not want to speak for it.
    "CADDY_MISDIRECTED",
    "CADDY_STRANGER",
    # Announces nothing, and has no HTTP/3.
    "CADDY_SILENT",
    # Asks for a client certificate.
    "CADDY_CLIENT_CERTIFICATE",
    *FAULTS,
]


def server(port, routes, http3=False, announces=None, certificate="good", **policy):
    if announces:
        header = {"handler": "headers", "response": {"set": {"Alt-Svc": [announces]}}}
        routes = [{"handle": [header]}, *routes]
    return {
        "listen": [f"127.0.0.1:{port}"],
        "protocols": ["h1", "h2", "h3"] if http3 else ["h1", "h2"],
        "automatic_https": {"disable": True},
        "tls_connection_policies": [{"certificate_selection": {"any_tag": [certificate]}, **policy}],
        "routes": routes,
    }


def proxy(address, **transport):
    return {
        "handler": "reverse_proxy", "flush_interval": -1, "upstreams": [{"dial": address}],
        "transport": {"protocol": "http", **transport},
    }


def demands_certificate(authority: Path):
    der = base64.b64encode(ssl.PEM_cert_to_DER_cert(authority.read_text())).decode()
    return {"client_authentication": {"mode": "require_and_verify", "trusted_ca_certs": [der]}}


def configuration(folder: Path, ports: dict, pairs: dict, authority: Path, nginx: str, nghttpd: str, closed: str):
    protocol = {"handler": "static_response", "body": "{http.request.proto}"}
    whole = [
        {
            # Without another server behind it, for measurements.
            "match": [{"path": ["/files/*"]}],
            "handle": [
                {"handler": "rewrite", "strip_path_prefix": "/files"},
                {"handler": "file_server", "root": str(folder / "files")},
            ],
        },
        {"match": [{"path": ["/protocol"]}], "handle": [protocol]},
        # Answers with the bytes that caddy itself reads: over HTTP/3 it does not forward a body of unknown length.
        {"match": [{"path": ["/body"]}], "handle": [{"handler": "static_response", "body": "{http.request.body}"}]},
        {"match": [{"path": ["/echo"]}], "handle": [proxy(nghttpd, versions=["h2c"])]},
        {"handle": [proxy(nginx)]},
    ]
    return json.dumps({
        "admin": {"disabled": True},
        "logging": {"logs": {"default": {"level": "WARN"}}},
        "storage": {"module": "file_system", "root": str(folder / "caddy")},
        "apps": {
            "tls": {"certificates": {"load_files": [
                {"certificate": str(pairs[name][1]), "key": str(pairs[name][0]), "tags": [name]}
                for name in ["good", *FAULTS.values()]
            ]}},
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
                "client_certificate": {
                    # With it caddy 2.6 answers 421 by HTTP/3.
                    "strict_sni_host": False,
                    **server(
                        ports["CADDY_CLIENT_CERTIFICATE"], [{"handle": [protocol]}], http3=True,
                        **demands_certificate(authority)),
                },
            } | {
                fault: server(ports[name], [{"handle": [protocol]}], http3=True, certificate=fault)
                for name, fault in FAULTS.items()
            }},
        },
    }, indent=1)
