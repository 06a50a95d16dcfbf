"""squid: a proxy with one port per way of authenticating."""

import hashlib
import subprocess
from pathlib import Path

PORTS = ["SQUID", "SQUID_BASIC", "SQUID_DIGEST", "SQUID_NTLM", "SQUID_ANY"]
HELPERS = Path("/usr/lib/squid")
REALM = "Curlew's proxy"

CONFIGURATION = """
visible_hostname curlew.test
pid_filename none
cache_log /dev/null
access_log none
cache deny all
netdb_filename none
pinger_enable off
coredump_dir none
dns_nameservers 127.0.0.1
shutdown_lifetime 0 seconds
auth_param digest program {helpers}/digest_file_auth -c {folder}/digest
auth_param digest children 1
auth_param digest realm {realm}
auth_param basic program {helpers}/basic_ncsa_auth {folder}/basic
auth_param basic children 1
auth_param basic realm {realm}
auth_param ntlm program {helpers}/ntlm_fake_auth
auth_param ntlm children 1
acl here src 127.0.0.1
acl at_open myportname SQUID
acl at_basic myportname SQUID_BASIC
acl at_digest myportname SQUID_DIGEST
acl at_ntlm myportname SQUID_NTLM
acl at_any myportname SQUID_ANY
acl forbidden url_regex ^http://[^/]*/forbidden
auth_schemes basic at_basic
auth_schemes digest at_digest
auth_schemes ntlm at_ntlm
auth_schemes digest,basic at_any
acl known proxy_auth REQUIRED
http_access deny !here
http_access deny forbidden
http_access allow at_open
http_access allow known
http_access deny all
"""


def write_files(folder: Path, user: str, password: str):
    """What the helpers read, as another user than root: `folder` must be open to all."""
    hashed = subprocess.run(
        ["openssl", "passwd", "-1", "-stdin"], input=password, capture_output=True, text=True, check=True
    ).stdout.strip()
    (folder / "basic").write_text(f"{user}:{hashed}\n")
    ha1 = hashlib.md5(f"{user}:{REALM}:{password}".encode()).hexdigest()
    (folder / "digest").write_text(f"{user}:{REALM}:{ha1}\n")
    for name in ("basic", "digest"):
        (folder / name).chmod(0o644)


def configuration(folder: Path, ports: dict):
    lines = [f"http_port 127.0.0.1:{ports[name]} name={name}" for name in PORTS]
    return "\n".join(lines) + CONFIGURATION.format(folder=folder, helpers=HELPERS, realm=REALM)
