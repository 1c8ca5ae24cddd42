"""Throw-away certificates, made with openssl as a site's own authority would make them."""

from __future__ import annotations

import subprocess
from pathlib import Path

DAYS = 60


def _request(folder: Path, name: str, *options: str) -> None:
    """Make a new key and a certificate for it."""
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-noenc",
        "-days",
        str(DAYS),
        "-keyout",
        f"{name}.key",
        "-out",
        f"{name}.crt",
    ]
    subprocess.run([*command, *options], cwd=folder, check=True, capture_output=True)


def authority(folder: Path) -> Path:
    """Make a certificate authority and return its certificate."""
    _request(folder, "ca", "-subj", "/CN=Throw-away authority")
    return (folder / "ca.crt").rename(folder / "ca.pem")


def issue(folder: Path, name: str, *names: str) -> Path:
    """Let the authority in `folder` certify `name`; return a PEM file of key and certificate.

    `names` are the subject's alternative names, such as `DNS:k1` or `IP:10.0.0.1`.
    """
    options = ["-CA", "ca.pem", "-CAkey", "ca.key", "-subj", f"/O=Example/CN={name}"]
    for extension in (
        "basicConstraints=critical,CA:FALSE",
        "extendedKeyUsage=serverAuth,clientAuth",
        f"subjectAltName={','.join(names or (f'DNS:{name}',))}",
    ):
        options += ["-addext", extension]
    _request(folder, name, *options)
    path = folder / f"{name}.pem"
    path.write_text((folder / f"{name}.key").read_text() + (folder / f"{name}.crt").read_text())
    return path


def sign(folder: Path, request: Path, signed: Path) -> None:
    """Let the authority in `folder` sign a request as it is."""
    signed.parent.mkdir(parents=True, exist_ok=True)
    command = ["openssl", "x509", "-req", "-in", str(request), "-copy_extensions", "copyall"]
    command += ["-CA", "ca.pem", "-CAkey", "ca.key", "-days", str(DAYS), "-out", str(signed)]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
