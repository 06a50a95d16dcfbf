"""haproxy: in front of nginx as a reverse proxy, and in front of a forward proxy as its TLS."""

from pathlib import Path

PORTS = [
    "HAPROXY", "HAPROXY_TLS", "HAPROXY_DEAD", "HAPROXY_TLS_PROXY", "HAPROXY_UNTRUSTED_PROXY",
    # Close idle connections after a tenth of a second.
    "HAPROXY_IMPATIENT", "HAPROXY_TLS_IMPATIENT",
]

CONFIGURATION = """
global
    maxconn 2000
    log /dev/null local0
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
    timeout tunnel 60s
frontend plain
    bind 127.0.0.1:{HAPROXY}
    http-request set-header Via haproxy
    use_backend websockets if {{ path_beg /socket/ }}
    default_backend nginx
frontend secure
    bind 127.0.0.1:{HAPROXY_TLS} ssl crt {good} alpn h2,http/1.1
    http-request set-header Via haproxy
    use_backend websockets if {{ path_beg /socket/ }}
    default_backend nginx
frontend impatient
    bind 127.0.0.1:{HAPROXY_IMPATIENT}
    bind 127.0.0.1:{HAPROXY_TLS_IMPATIENT} ssl crt {good} alpn h2,http/1.1
    timeout http-keep-alive 100ms
    http-request set-header Via haproxy
    default_backend nginx
frontend dead
    bind 127.0.0.1:{HAPROXY_DEAD}
    default_backend nobody
frontend proxy
    mode tcp
    bind 127.0.0.1:{HAPROXY_TLS_PROXY} ssl crt {good}
    default_backend proxy
frontend untrusted
    mode tcp
    bind 127.0.0.1:{HAPROXY_UNTRUSTED_PROXY} ssl crt {unknown}
    default_backend proxy
backend nginx
    server nginx 127.0.0.1:{nginx}
backend websockets
    server websockets 127.0.0.1:{websockets}
backend nobody
    server nobody 127.0.0.1:{closed}
backend proxy
    mode tcp
    server proxy 127.0.0.1:{proxy}
"""


def write_pair(folder: Path, name: str, pair):
    """Key and certificate in one file, as haproxy wants them."""
    path = folder / f"haproxy-{name}.pem"
    path.write_bytes(pair[1].read_bytes() + pair[0].read_bytes())
    return path


def configuration(ports: dict, good: Path, unknown: Path, **behind):
    """`behind` are the ports of the servers that it forwards to."""
    return CONFIGURATION.format(**ports, good=good, unknown=unknown, **behind)
