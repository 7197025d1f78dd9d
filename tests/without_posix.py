"""A Python without what only POSIX has, as on Windows. Run as a program, it imports every module of innervoice, or runs its command line.

What innervoice stands on is imported before, since on this system it may use what is there.
"""

import importlib
import json
import multiprocessing
import os
import signal
import socket
import sys
import time
from pathlib import Path

MODULES = ("fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty", "uvloop")
# Those that Python documents as not available on Windows.
NAMES = {
    os: (
        "O_CLOEXEC O_DIRECTORY O_NOCTTY O_NOFOLLOW O_NONBLOCK WNOHANG chown chroot ctermid fchdir fchmod fchown fork forkpty getegid geteuid"
        " getgid getgroups getloadavg getpgid getpgrp getpriority getresuid getsid getuid killpg lchown lockf mkfifo nice openpty pathconf"
        " posix_fadvise posix_fallocate posix_spawn pread preadv pwrite pwritev register_at_fork sched_getaffinity sched_yield sendfile"
        " setgid setpgid setsid setuid statvfs sync sysconf ttyname uname wait wait3 wait4"
    ),
    signal: (
        "SIGALRM SIGBUS SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGQUIT SIGSTOP SIGTSTP SIGUSR1 SIGUSR2 SIGWINCH alarm pause pthread_kill"
        " pthread_sigmask setitimer siginterrupt sigpending sigwait"
    ),
    socket: "SO_REUSEPORT sethostname",
    time: "clock_gettime pthread_getcpuclockid tzset",
}


def hide() -> None:
    """Takes away what Windows does not have."""
    for name in MODULES:
        sys.modules[name] = None
    for module, names in NAMES.items():
        for name in names.split():
            if hasattr(module, name):
                delattr(module, name)
    multiprocessing.get_all_start_methods = lambda: ["spawn"]
    get_context = multiprocessing.get_context

    def spawned_only(method=None):
        if method not in {None, "spawn"}:
            raise ValueError(f"cannot find context for {method!r}")
        return get_context("spawn")

    multiprocessing.get_context = spawned_only


def modules() -> list[str]:
    """The names of all modules of innervoice."""
    folder = Path(importlib.import_module("innervoice").__file__).parent
    paths = [path.relative_to(folder.parent).with_suffix("") for path in folder.rglob("*.py")]
    names = {".".join(path.parts).removesuffix(".__init__") for path in paths}
    return sorted(name for name in names if not name.endswith("__main__"))


def imported(names: list[str]) -> dict[str, Exception]:
    """Imports modules; those that failed, and why."""
    failed = {}
    for name in names:
        try:
            importlib.import_module(name)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is reported
            failed[name] = error
    return failed


def leave_posix() -> dict[str, str]:
    """Hides POSIX from innervoice, which is imported anew; the modules that need a package which is not installed, and that package."""
    failed = imported(modules())
    for name in [name for name in sys.modules if name.partition(".")[0] == "innervoice"]:
        del sys.modules[name]
    hide()
    return {
        name: str(error.name)
        for name, error in failed.items()
        if isinstance(error, ModuleNotFoundError) and not str(error.name).startswith("innervoice")
    }


def main() -> None:
    """Imports all modules, or runs the command line with the arguments of this program."""
    skipped = leave_posix()
    if len(sys.argv) > 1:
        importlib.import_module("innervoice.cli").main()
    names = modules()
    failed = imported([name for name in names if name not in skipped])
    reasons = {name: f"{type(error).__name__}: {error}" for name, error in failed.items()}
    print(json.dumps({"modules": names, "skipped": skipped, "failed": reasons}))  # noqa: T201


if __name__ == "__main__":
    main()
