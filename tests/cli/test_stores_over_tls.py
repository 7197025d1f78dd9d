"""`innervoice serve` with a store behind TLS: real servers, certificates of an authority made for the test, and one of another authority."""

import datetime as dt
import ipaddress
import os
import shutil
import socket
import ssl
import tempfile
from pathlib import Path

import httpx2
import pytest

from cli.test_serve import Serve
from memory.stores.servers import PostgresServer, RedisServer, postgres_programs, redis_program

x509 = pytest.importorskip("cryptography.x509")
pytest.importorskip("aiohttp")


def authority(folder, name):
    """A certificate authority; gives a function that writes the certificate of a server."""
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    now = dt.datetime.now(dt.UTC)

    def certificate(subject, key, issuer, signer, *, is_authority):
        made = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer)
        made = made.public_key(key.public_key()).serial_number(x509.random_serial_number())
        made = made.not_valid_before(now - dt.timedelta(hours=1))
        made = made.not_valid_after(now + dt.timedelta(days=1))
        made = made.add_extension(x509.BasicConstraints(is_authority, None), critical=True)
        names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        if is_authority:
            usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
            made = made.add_extension(usage, critical=True)
        else:
            made = made.add_extension(x509.SubjectAlternativeName(names), critical=False)
        # From 3.13 on Python demands both.
        own = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        of_issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
        made = made.add_extension(own, critical=False).add_extension(of_issuer, critical=False)
        return made.sign(signer, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    def named(text):
        return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])

    root = ec.generate_private_key(ec.SECP256R1())
    file = folder / f"{name}.pem"
    file.write_bytes(certificate(named(name), root, named(name), root, is_authority=True))

    def server_files(place):
        key = ec.generate_private_key(ec.SECP256R1())
        (place / "server.pem").write_bytes(certificate(named("localhost"), key, named(name), root, is_authority=False))  # fmt: skip
        private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())  # fmt: skip
        (place / "server.key").write_bytes(private)
        (place / "server.key").chmod(0o600)

    return file, server_files


class RedisOverTls(RedisServer):
    """Redis that speaks nothing but TLS."""

    def __init__(self, program, folder, certificates):
        super().__init__(program, folder)
        certificates(folder)
        self.authority = ""

    def command(self):
        folder = self.folder
        return [self.program, "--bind", "127.0.0.1", "--port", "0", "--tls-port", str(self.port), "--dir", str(folder),
                "--tls-cert-file", str(folder / "server.pem"), "--tls-key-file", str(folder / "server.key"),
                "--tls-ca-cert-file", str(folder / "server.pem"), "--tls-auth-clients", "no", "--save", "", "--appendonly", "no"]  # fmt: skip

    def answers(self):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        try:
            with (
                socket.create_connection(("127.0.0.1", self.port), 1) as plain,
                context.wrap_socket(plain) as connection,
            ):
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False

    def url_with(self, file):
        return f"rediss://localhost:{self.port}/0?ssl_ca_certs={file}"


class PostgresOverTls(PostgresServer):
    """PostgreSQL that accepts connections over TLS alone."""

    def __init__(self, programs, folder, certificates):
        super().__init__(programs, folder)
        certificates(self.data)
        if self.account:
            for name in ("server.pem", "server.key"):
                os.chown(self.data / name, self.account.pw_uid, self.account.pw_gid)
        (self.data / "pg_hba.conf").write_text("hostssl all all 127.0.0.1/32 trust\n")

    def command(self):
        return [*super().command(), "-c", "ssl=on", "-c", "ssl_cert_file=server.pem", "-c", "ssl_key_file=server.key"]  # fmt: skip

    def url_with(self, file):
        return f"postgresql://innervoice@localhost:{self.port}/postgres?sslmode=verify-full&sslrootcert={file}"


SERVERS = {
    "redis": (RedisOverTls, redis_program, "redis"),
    "postgres": (PostgresOverTls, postgres_programs, "asyncpg"),
}


@pytest.fixture(params=SERVERS)
def store(request):
    """A server with a certificate, and the file of the authority that signed it."""
    kind, programs, package = SERVERS[request.param]
    pytest.importorskip(package)
    if programs() is None:
        pytest.skip("the server is not installed: scripts/servers")
    folder = Path(tempfile.mkdtemp(prefix="innervoice-tls-"))
    folder.chmod(0o755)
    server = None
    try:
        file, certificates = authority(folder, "trusted")
        (folder / "server").mkdir()
        server = kind(programs(), folder / "server", certificates)
        server.start()
        yield server, file, folder
    finally:
        if server is not None:
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def ready(folder, url):
    """What a gateway with this store says of it."""
    file = folder / "gateway.toml"
    file.write_text('[server]\nkey = "env:GATEWAY_KEY"\nstore = "env:STORE"\n')
    with Serve("--emulated", "--config", str(file), GATEWAY_KEY="g" * 32, STORE=url, XDG_STATE_HOME=str(folder)) as serve:  # fmt: skip
        serve.greeting()
        reply = httpx2.get(f"http://127.0.0.1:{serve.port}/health/ready", trust_env=False, timeout=30)  # fmt: skip
    return reply.json()["store"]["state"]


def test_a_store_behind_tls(store):
    server, file, folder = store
    assert "ok" == ready(folder, server.url_with(file))


def test_a_store_with_a_certificate_of_somebody_else_is_not_used(store):
    server, _, folder = store
    other, _ = authority(folder, "other")
    assert "away" == ready(folder, server.url_with(other))


def test_a_store_that_demands_tls_is_not_used_without(store):
    server, _, folder = store
    plain = server.url_with("x").partition("?")[0].replace("rediss:", "redis:")
    if plain.startswith("postgresql"):
        plain += "?sslmode=disable"
    assert "away" == ready(folder, plain)
