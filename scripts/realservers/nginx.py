"""nginx: one process, one port per way of being reached."""

from pathlib import Path

LARGE_BYTES = 1 << 30

HEAD = """
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/nginx-error.log warn;
worker_processes 1;
worker_rlimit_nofile {descriptors};
{user}
events {{ worker_connections {connections}; multi_accept on; }}
http {{
    access_log off;
    default_type application/octet-stream;
    types {{ text/plain txt; application/json json; text/html html; }}
    client_body_temp_path {folder}/temp/body;
    proxy_temp_path {folder}/temp/proxy;
    fastcgi_temp_path {folder}/temp/fastcgi;
    uwsgi_temp_path {folder}/temp/uwsgi;
    scgi_temp_path {folder}/temp/scgi;
    sendfile on;
    tcp_nopush on;
    keepalive_timeout 120s;
    keepalive_requests 100000000;
    http2_max_concurrent_streams 256;
    lingering_time 600s;
    lingering_timeout 60s;
    # The client and its connection, for tests.
    map $http_via $arrived_via {{ default $http_via; "" direct; }}
"""

LOCATIONS = """
        root {folder}/files;
        location = /small { default_type text/plain; return 200 "Hello from a real server.\\n"; }
        location = /info {
            default_type text/plain;
            return 200 "connection=$connection\\nrequests=$connection_requests\\nprotocol=$server_protocol\\ntls=$ssl_protocol\\nsession=$ssl_session_reused\\nclient=$ssl_client_s_dn\\nmethod=$request_method\\nvia=$arrived_via\\nuser_agent=$http_user_agent\\nproxy_authorization=$http_proxy_authorization\\nauthorization=$http_authorization\\n";
        }
        location = /status/404 { return 404 "not here"; }
        location = /status/500 { return 500 "broken"; }
        location = /status/503 { add_header Retry-After 1 always; return 503 "later"; }
        location = /redirect { return 302 /small; }
        location = /close { return 444; }
        location = /sink { client_max_body_size 0; return 200 "taken\\n"; }
        # nginx counts the head too: a response of some 250 bytes is held back for five seconds.
        location = /held.txt { limit_rate 40; }
        # No byte for an hour: credentials are missing, and nginx says so late. The file is never opened.
        location = /kept { auth_basic kept; auth_basic_user_file none; auth_delay 1h; }
        location = /slow.txt { limit_rate 2k; }
        location /socket/ {
            proxy_pass http://127.0.0.1:{websockets};
            proxy_http_version 1.1;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection upgrade;
            proxy_set_header Host $http_host;
            proxy_set_header Via nginx;
        }
        location /stored/ {
            client_max_body_size 0;
            dav_methods PUT DELETE;
            create_full_put_path on;
        }
        # Responses that a cache may store.
        location = /fresh { default_type text/plain; add_header Cache-Control max-age=3600; return 200 "Hello from a real server.\\n"; }
        location /fresh/ { alias {folder}/files/; add_header Cache-Control max-age=3600; }
        location = /words.json { gzip on; gzip_types application/json; gzip_min_length 100; add_trailer X-Trailer late; }
"""


def server(listen, extra="", pair=None):
    lines = [f"        listen {listen};", "        server_name localhost;"]
    if pair:
        lines += [f"        ssl_certificate_key {pair[0]};", f"        ssl_certificate {pair[1]};"]
    lines += [f"        {line}" for line in extra.splitlines() if line.strip()]
    return "    server {\n" + "\n".join(lines) + "%LOCATIONS%    }\n"


def write_files(folder: Path, large: int):
    files = folder / "files"
    (files / "stored").mkdir(parents=True)
    (files / "small.txt").write_text("Hello from a real file.\n")
    (files / "held.txt").write_text("held!\n")
    (files / "slow.txt").write_bytes(b"x" * 20_000)
    (files / "words.json").write_text('{"words": [' + ", ".join(f'"word {i}"' for i in range(5_000)) + "]}")
    if large:
        # Sparse: it costs no disk, and reading it is as fast as a page cache can be.
        with open(files / "large.bin", "wb") as file:
            file.truncate(large)
    (folder / "temp").mkdir()


def configuration(
    folder: Path, ports: dict, pairs: dict, ca: Path, socket: str, root: bool, descriptors: int, staples: dict, websockets: str
):
    tls_any = "ssl_protocols TLSv1.2 TLSv1.3;\nssl_session_cache shared:s:1m;"
    text = HEAD.format(
        folder=folder, user="user root;" if root else "", descriptors=descriptors,
        connections=max(1024, descriptors - 200),
    )
    # reuseport is not needed; the backlog is, for thousands of connections at once.
    text += server(f"127.0.0.1:{ports['NGINX']} backlog=8192")
    text += server(f"unix:{socket}")
    text += server(f"127.0.0.1:{ports['NGINX_IDLE']}", "keepalive_timeout 250ms;")
    text += server(f"127.0.0.1:{ports['NGINX_THREE_REQUESTS']}", "keepalive_requests 3;")
    text += server(
        f"127.0.0.1:{ports['NGINX_TLS_THREE_REQUESTS']} ssl http2", f"{tls_any}\nkeepalive_requests 3;", pairs["good"]
    )
    text += server(f"127.0.0.1:{ports['NGINX_TLS']} ssl http2 backlog=8192", tls_any, pairs["good"])
    text += server(f"127.0.0.1:{ports['NGINX_TLS_HTTP1']} ssl backlog=8192", tls_any, pairs["good"])
    # No resumption: each connection pays for a whole handshake.
    text += server(
        f"127.0.0.1:{ports['NGINX_TLS_NO_RESUMPTION']} ssl backlog=8192",
        "ssl_protocols TLSv1.2 TLSv1.3;\nssl_session_cache off;\nssl_session_tickets off;", pairs["good"],
    )
    for name in ("expired", "not_yet_valid", "wrong_host", "unknown_ca", "self_signed", "incomplete_chain", "revoked"):
        text += server(f"127.0.0.1:{ports['NGINX_' + name.upper()]} ssl http2", tls_any, pairs[name])
    text += server(
        f"127.0.0.1:{ports['NGINX_CLIENT_CERTIFICATE']} ssl",
        # 1.3 reports a missing client certificate only after the handshake; both ways are of interest.
        f"{tls_any}\nssl_client_certificate {ca};\nssl_verify_client on;", pairs["good"],
    )
    # A key that OpenSSL's usual level would not even let the server have.
    text += server(f"127.0.0.1:{ports['NGINX_WEAK']} ssl", "ssl_ciphers DEFAULT:@SECLEVEL=0;", pairs["weak"])
    # libcurl looks for the issuer among the certificates that the server sends, so these chains have it.
    for name in ("good", "revoked"):
        key, certificate = pairs[name]
        chain = folder / f"{name}-with-issuer.pem"
        chain.write_bytes(certificate.read_bytes() + ca.read_bytes())
        staple = f"ssl_stapling on;\nssl_stapling_file {staples[name]};"
        text += server(f"127.0.0.1:{ports['NGINX_STAPLED_' + name.upper()]} ssl http2", staple, (key, chain))
    text += server(f"127.0.0.1:{ports['NGINX_TLS13']} ssl http2", "ssl_protocols TLSv1.3;", pairs["good"])
    text += server(
        f"127.0.0.1:{ports['NGINX_TLS10']} ssl", "ssl_protocols TLSv1;\nssl_ciphers DEFAULT:@SECLEVEL=0;", pairs["good"]
    )
    text += "}\n"
    return text.replace("%LOCATIONS%", LOCATIONS.replace("{folder}", str(folder)).replace("{websockets}", websockets))


PORTS = [
    "NGINX", "NGINX_IDLE", "NGINX_THREE_REQUESTS", "NGINX_TLS", "NGINX_TLS_THREE_REQUESTS", "NGINX_TLS_HTTP1",
    "NGINX_TLS_NO_RESUMPTION", "NGINX_EXPIRED", "NGINX_NOT_YET_VALID", "NGINX_WRONG_HOST", "NGINX_UNKNOWN_CA",
    "NGINX_SELF_SIGNED", "NGINX_INCOMPLETE_CHAIN", "NGINX_REVOKED", "NGINX_CLIENT_CERTIFICATE", "NGINX_TLS13",
    "NGINX_TLS10", "NGINX_WEAK", "NGINX_STAPLED_GOOD", "NGINX_STAPLED_REVOKED",
]
