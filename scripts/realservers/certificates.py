"""A certificate authority made on the fly, and a certificate for every way in which one can be wrong."""

import subprocess
from datetime import datetime, timedelta, timezone
from pathlib import Path

CONFIGURATION = """
[ca]
default_ca = authority
[authority]
database = {folder}/index.txt
serial = {folder}/serial
crlnumber = {folder}/crlnumber
new_certs_dir = {folder}/issued
default_md = sha256
default_days = 30
default_crl_days = 30
policy = anything
unique_subject = no
copy_extensions = none
[anything]
commonName = supplied
[req]
distinguished_name = name
prompt = no
[name]
CN = replaced
[root]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign,cRLSign
subjectKeyIdentifier = hash
[server]
basicConstraints = CA:FALSE
extendedKeyUsage = serverAuth
subjectAltName = DNS:localhost,IP:127.0.0.1
[elsewhere]
basicConstraints = CA:FALSE
extendedKeyUsage = serverAuth
subjectAltName = DNS:elsewhere.example
[client]
basicConstraints = CA:FALSE
extendedKeyUsage = clientAuth
"""

CURVE = ("ec", "-pkeyopt", "ec_paramgen_curve:P-256")
# Half of the key length that clients accept today.
WEAK = ("rsa:1024",)

SYSTEM_BUNDLES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")


def openssl(*arguments):
    done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"openssl {arguments[0]} failed:\n{done.stderr}")


class Authority:
    """One CA: a folder with its key, its certificate and openssl's database of what it issued."""

    def __init__(self, folder: Path, name: str, issuer: "Authority | None" = None):
        self.folder = folder
        (folder / "issued").mkdir(parents=True)
        (folder / "index.txt").touch()
        (folder / "serial").write_text("1000\n")
        (folder / "crlnumber").write_text("01\n")
        self.configuration = folder / "openssl.cnf"
        self.configuration.write_text(CONFIGURATION.format(folder=folder))
        self.certificate, self.key = folder / "ca.pem", folder / "ca.key"
        if issuer is None:
            openssl(
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
                "-config", self.configuration, "-extensions", "root", "-subj", f"/CN={name}",
                "-keyout", self.key, "-out", self.certificate,
            )
        else:
            self.key, self.certificate = issuer.issue(folder / "ca", name, "root")

    def issue(self, stem: Path, name: str, kind: str, first=-1, last=30, algorithm=CURVE):
        """A key and a certificate valid from `first` to `last` days from now."""
        stem.parent.mkdir(parents=True, exist_ok=True)
        key, certificate, request = (stem.with_suffix(s) for s in (".key", ".pem", ".csr"))
        openssl(
            "req", "-new", "-newkey", *algorithm, "-nodes",
            "-config", self.configuration, "-subj", f"/CN={name}", "-keyout", key, "-out", request,
        )
        now = datetime.now(timezone.utc)
        openssl(
            "ca", "-batch", "-notext", "-config", self.configuration, "-extensions", kind,
            "-cert", self.certificate, "-keyfile", self.key, "-in", request, "-out", certificate,
            "-startdate", f"{now + timedelta(days=first):%Y%m%d%H%M%SZ}",
            "-enddate", f"{now + timedelta(days=last):%Y%m%d%H%M%SZ}",
        )
        request.unlink()
        return key, certificate

    def revoke(self, certificate: Path):
        openssl(
            "ca", "-config", self.configuration, "-cert", self.certificate, "-keyfile", self.key,
            "-revoke", certificate,
        )

    def staple(self, certificate: Path, path: Path):
        """An OCSP answer about a certificate, signed by the authority itself, as a server staples it."""
        openssl(
            "ocsp", "-index", self.folder / "index.txt", "-CA", self.certificate, "-rsigner", self.certificate,
            "-rkey", self.key, "-issuer", self.certificate, "-cert", certificate, "-ndays", "30", "-respout", path,
        )
        return path

    def write_revocations(self, path: Path):
        openssl(
            "ca", "-config", self.configuration, "-cert", self.certificate, "-keyfile", self.key,
            "-gencrl", "-out", path,
        )


def make(folder: Path):
    """Makes everything below `folder`; returns {name: (key, certificate)} and what tests need to know."""
    ours = Authority(folder / "ca", "Curlew Test CA")
    stranger = Authority(folder / "stranger", "Unknown CA")
    between = Authority(folder / "between", "Curlew Test Intermediate CA", issuer=ours)
    served = folder / "served"
    served.mkdir()
    pairs = {
        "good": ours.issue(served / "good", "localhost", "server"),
        "expired": ours.issue(served / "expired", "localhost", "server", first=-20, last=-10),
        "not_yet_valid": ours.issue(served / "not-yet-valid", "localhost", "server", first=10, last=20),
        "wrong_host": ours.issue(served / "wrong-host", "elsewhere.example", "elsewhere"),
        "unknown_ca": stranger.issue(served / "unknown-ca", "localhost", "server"),
        "incomplete_chain": between.issue(served / "incomplete-chain", "localhost", "server"),
        "revoked": ours.issue(served / "revoked", "localhost", "server"),
        "weak": ours.issue(served / "weak", "localhost", "server", algorithm=WEAK),
    }
    key, certificate = served / "self-signed.key", served / "self-signed.pem"
    openssl(
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
        "-config", ours.configuration, "-extensions", "server", "-subj", "/CN=localhost",
        "-keyout", key, "-out", certificate,
    )
    pairs["self_signed"] = (key, certificate)
    ours.revoke(pairs["revoked"][1])
    revocations = folder / "revocations.pem"
    ours.write_revocations(revocations)

    client_key, client_certificate = ours.issue(folder / "client", "curlew-client", "client")
    archive = folder / "client.p12"
    openssl(
        "pkcs12", "-export", "-inkey", client_key, "-in", client_certificate, "-passout", "pass:secret",
        "-out", archive,
    )
    stranger_key, stranger_certificate = stranger.issue(folder / "strange-client", "strange-client", "client")

    bundle = folder / "system-and-ours.pem"
    system = next((Path(p) for p in SYSTEM_BUNDLES if Path(p).exists()), None)
    bundle.write_bytes((system.read_bytes() if system else b"") + ours.certificate.read_bytes())

    facts = {
        "CA_FILE": ours.certificate,
        "CA_BUNDLE_FILE": bundle,
        "CRL_FILE": revocations,
        "GOOD_CERTIFICATE": pairs["good"][1],
        "STAPLE_GOOD": ours.staple(pairs["good"][1], folder / "good.ocsp"),
        "STAPLE_REVOKED": ours.staple(pairs["revoked"][1], folder / "revoked.ocsp"),
        "CLIENT_KEY": client_key,
        "CLIENT_CERTIFICATE": client_certificate,
        "CLIENT_PKCS12": archive,
        "STRANGE_CLIENT_KEY": stranger_key,
        "STRANGE_CLIENT_CERTIFICATE": stranger_certificate,
    }
    return pairs, facts
