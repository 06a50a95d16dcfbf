"""Apache's httpd: Basic and Digest authentication by its own modules, and uploads through WebDAV."""

import base64
import hashlib
import shutil
from pathlib import Path

MODULES = Path("/usr/lib/apache2/modules")
REALM = "Curlew's own"
OTHER_REALM = "Another realm"

CONFIGURATION = """
ServerRoot {folder}
ServerName localhost
Listen 127.0.0.1:{port}
PidFile {folder}/apache.pid
DefaultRuntimeDir {folder}
Mutex pthread
{modules}
{user}
StartServers 1
ServerLimit 2
ThreadsPerChild 25
MaxRequestWorkers 50
ErrorLog /dev/null
DocumentRoot {folder}/htdocs
DavLockDB {folder}/locks/dav
TypesConfig /dev/null
KeepAlive On
<Directory {folder}/htdocs>
    Require all granted
</Directory>
<Location /digest>
    AuthType Digest
    AuthName "{realm}"
    AuthDigestProvider file
    AuthUserFile {folder}/htdigest
    Require valid-user
    Dav On
</Location>
<Location /basic>
    AuthType Basic
    AuthName "{realm}"
    AuthUserFile {folder}/htpasswd
    Require valid-user
    Dav On
</Location>
<Location /other>
    AuthType Basic
    AuthName "{other}"
    AuthUserFile {folder}/htpasswd.other
    Require valid-user
</Location>
"""

LOADED = [
    "mpm_event", "authn_core", "authn_file", "authz_core", "authz_user", "auth_basic", "auth_digest", "dav", "dav_fs",
    "mime",
]


def sha(password):
    return "{SHA}" + base64.b64encode(hashlib.sha1(password.encode()).digest()).decode()


def write_files(folder: Path, user: str, password: str, owner):
    """Pages, password files, and folders that the server's own user may write to."""
    for name in ("digest", "basic", "basic/deeper", "other"):
        (folder / "htdocs" / name).mkdir(parents=True)
        (folder / "htdocs" / name / "page.txt").write_text(f"{name}\n")
    (folder / "locks").mkdir()
    ha1 = hashlib.md5(f"{user}:{REALM}:{password}".encode()).hexdigest()
    (folder / "htdigest").write_text(f"{user}:{REALM}:{ha1}\n")
    (folder / "htpasswd").write_text(f"{user}:{sha(password)}\n")
    (folder / "htpasswd.other").write_text(f"{user}:{sha('another ' + password)}\n")
    if owner:
        for name in ("htdocs/digest", "htdocs/basic", "locks"):
            shutil.chown(folder / name, *owner)


def configuration(folder: Path, port: int, owner):
    return CONFIGURATION.format(
        folder=folder, port=port, realm=REALM, other=OTHER_REALM,
        modules="\n".join(f"LoadModule {name}_module {MODULES}/mod_{name}.so" for name in LOADED),
        user=f"User {owner[0]}\nGroup {owner[1]}" if owner else "",
    )
