"""Real certificates for servers of the tests: an authority, and what it or nobody signed."""

import datetime
import ssl
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAY: Final = datetime.timedelta(days=1)


class Authority:
    """A certificate authority in a folder; its own certificate is in `file`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._certificate = _signed("The tests' authority", self._key, None, authority=True)
        self.file = folder / "authority.pem"
        self.file.write_bytes(_pem(self._certificate))

    def context(self, name: str = "localhost", *, days: int = 1, own: bool = True) -> ssl.SSLContext:
        """A server's side of TLS with a certificate for a name, valid for ten days until that many days from now. `own`: signed
        by this authority, otherwise by itself."""
        key = ec.generate_private_key(ec.SECP256R1())
        signer = (self._key, self._certificate) if own else None
        certificate = _signed(name, key, signer, until=datetime.datetime.now(datetime.UTC) + days * DAY)
        path = self._folder / f"{name}-{days}-{own}.pem"
        private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        path.write_bytes(_pem(certificate) + private)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(path)
        return context


def _signed(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    signer: tuple[ec.EllipticCurvePrivateKey, x509.Certificate] | None,
    *,
    authority: bool = False,
    until: datetime.datetime | None = None,
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    signing_key, issuer = (key, subject) if signer is None else (signer[0], signer[1].subject)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before((until or now) - 10 * DAY)
        .not_valid_after(until or now + DAY)
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signing_key.public_key()), critical=False)
    )
    if authority:
        usage = x509.KeyUsage(
            digital_signature=True, key_cert_sign=True, crl_sign=True, content_commitment=False, key_encipherment=False,
            data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
        )  # fmt: skip
        builder = builder.add_extension(usage, critical=True)
    else:
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
    return builder.sign(signing_key, hashes.SHA256())


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
