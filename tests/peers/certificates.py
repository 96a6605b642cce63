# SPDX-License-Identifier: Apache-2.0
"""Certificates for one run of the tests, by the openssl command."""
import dataclasses
import pathlib
import subprocess


def _openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


@dataclasses.dataclass(frozen=True)
class Certificate:
    cert: pathlib.Path
    key: pathlib.Path

    @property
    def files(self):
        """As in a configuration, of profcol or a Collector."""
        return {"cert_file": str(self.cert), "key_file": str(self.key)}


class Authority:
    """A certificate authority with its files in `directory`."""

    def __init__(self, directory):
        self._directory = directory
        self.path = directory / "ca.pem"
        self._key = directory / "ca.key"
        # fmt: off
        _openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                 "-subj", "/CN=profcol tests", "-days", 2, "-keyout", self._key, "-out", self.path)
        # fmt: on

    def issue(self, name, address="127.0.0.1", days=2, organization=None):
        """A certificate of `name` and `address`; with negative `days`, one that has expired."""
        key, request, cert = (
            self._directory / f"{name}{suffix}" for suffix in (".key", ".csr", ".pem")
        )
        extensions = self._directory / f"{name}.ext"
        extensions.write_text(f"subjectAltName=DNS:{name},IP:{address}\n")
        subject = f"/O={organization}/CN={name}" if organization else f"/CN={name}"
        # fmt: off
        _openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                 "-subj", subject, "-keyout", key, "-out", request)
        _openssl("x509", "-req", "-in", request, "-CA", self.path, "-CAkey", self._key,
                 "-CAcreateserial", "-days", days, "-extfile", extensions, "-out", cert)
        # fmt: on
        return Certificate(cert, key)
