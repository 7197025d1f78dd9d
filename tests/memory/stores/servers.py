"""Redis and PostgreSQL on loopback ports of their own, in temporary folders, started when a test asks for them and stopped for certain.

    from memory.stores.servers import postgres_server, redis_server  # noqa: F401 - fixtures

`scripts/servers` installs them. Where they are missing, the tests that need them are skipped.
"""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

__all__ = ["PostgresServer", "RedisServer", "postgres_server", "redis_server"]

STARTING_SECONDS = 30


class Server:
    """A server that can be killed and started again on the same port. It ends with the thread that started it, even if that is killed."""

    def __init__(self, folder):
        self.folder = folder
        self.port = free_port()
        self.process = None
        self.log = folder / "server.log"

    def start(self):
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*self.bound_to_us(), *self.command()],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                **self.owner(),
            )
        end = time.monotonic() + STARTING_SECONDS
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > end:
                self.stop()
                raise RuntimeError(f"{self.command()[0]} does not start: {self.log.read_text()}")
            time.sleep(0.02)

    def stop(self):
        if self.process is not None:
            self.process.send_signal(self.ending)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None

    def owner(self):
        return {}

    def bound_to_us(self):
        """What makes the kernel end it if nobody is left to stop it (Linux)."""
        program = shutil.which("setpriv")
        return [program, "--pdeathsig", self.ending.name.removeprefix("SIG")] if program else []


class RedisServer(Server):
    ending = signal.SIGKILL

    def __init__(self, program, folder):
        super().__init__(folder)
        self.program = program
        self.url = f"redis://127.0.0.1:{self.port}/0"

    def command(self):
        return [
            self.program,
            *("--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self.folder)),
            *("--save", "", "--appendonly", "no"),
        ]

    def answers(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False

    def empty(self):
        with socket.create_connection(("127.0.0.1", self.port), 5) as connection:
            connection.sendall(b"FLUSHALL\r\n")
            assert connection.recv(16).startswith(b"+OK")


class PostgresServer(Server):
    # At once, and its children with it; nothing is lost but what was not committed.
    ending = signal.SIGQUIT

    def __init__(self, programs, folder):
        super().__init__(folder)
        self.programs = programs
        self.account = unprivileged_account()
        if self.account:
            os.chown(folder, self.account.pw_uid, self.account.pw_gid)
        self.data = folder / "data"
        self.url = f"postgresql://innervoice@127.0.0.1:{self.port}/postgres"
        subprocess.run(
            [
                self.programs / "initdb",
                *("--pgdata", self.data, "--username", "innervoice", "--auth", "trust"),
                *("--encoding", "UTF8", "--locale", "C", "--no-sync", "--no-instructions"),
            ],
            check=True,
            capture_output=True,
            timeout=120,
            **self.owner(),
        )

    def command(self):
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": "",
            "fsync": "off",
            "full_page_writes": "off",
            "shared_buffers": "32MB",
            "max_connections": "40",
        }
        options = [one for item in settings.items() for one in ("-c", "{}={}".format(*item))]
        return [str(self.programs / "postgres"), "-D", str(self.data), *options]

    def answers(self):
        asked = [self.programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run(asked, check=False, timeout=10).returncode == 0

    def run(self, statement):
        """Runs a statement and returns what it answers, as lines."""
        psql = [self.programs / "psql", "-qAtX", "-v", "ON_ERROR_STOP=1", "-c", statement, self.url]
        return subprocess.run(psql, check=True, capture_output=True, text=True, timeout=30).stdout

    def empty(self):
        self.run("DROP SCHEMA public CASCADE; CREATE SCHEMA public")

    def owner(self):
        if not self.account:
            return {}
        return {
            "user": self.account.pw_uid,
            "group": self.account.pw_gid,
            "extra_groups": [],
            "cwd": self.folder,
        }


def unprivileged_account():
    """PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    pytest.skip("PostgreSQL does not run as root, and there is no user postgres or nobody")


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def redis_program():
    return shutil.which("redis-server") or shutil.which("valkey-server")


def postgres_programs():
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if found:
        return found[-1].parent
    elsewhere = shutil.which("postgres")
    return Path(elsewhere).parent if elsewhere else None


def running(server_class, programs):
    if programs is None:
        pytest.skip("the server is not installed: scripts/servers")
    # Not in pytest's own folder: that is closed to the user whom PostgreSQL runs as.
    folder = Path(tempfile.mkdtemp(prefix="innervoice-server-"))
    try:
        server = server_class(programs, folder)
        try:
            server.start()
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def redis_server():
    """A Redis (or Valkey) server without persistence, for all tests."""
    pytest.importorskip("redis")
    yield from running(RedisServer, redis_program())


@pytest.fixture(scope="session")
def postgres_server():
    """A PostgreSQL server, for all tests."""
    pytest.importorskip("asyncpg")
    yield from running(PostgresServer, postgres_programs())
