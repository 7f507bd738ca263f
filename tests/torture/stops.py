"""Ends a process with ``kill -9`` right before its Nth system call that writes to a file, whichever thread makes it.

The process is a fork of this one, so what it needs is loaded already. A filter of the kernel (seccomp) stops it at
each call that writes, and at no other; the Nth such call is never made. ``strace -e inject=CALL:signal=KILL:when=N``
does the same, but counts every thread and every kind of call for itself: of two threads only the busier one is killed.

Linux on x86-64 and 64-bit ARM. Where a process may not be traced, ``why_not`` says so.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

#: Numbers of the calls on x86-64 and on 64-bit ARM; None where there is no such call.
_CALLS: dict[str, tuple[int | None, int | None]] = {
    "write": (1, 64),
    "pwrite64": (18, 68),
    "writev": (20, 66),
    "pwritev": (296, 70),
    "pwritev2": (328, 287),
    "sendfile": (40, 71),
    "copy_file_range": (326, 285),
    "fallocate": (285, 47),
    "fsync": (74, 82),
    "fdatasync": (75, 83),
    "ftruncate": (77, 46),
    "truncate": (76, 45),
    "rename": (82, None),
    "renameat": (264, 38),
    "renameat2": (316, 276),
    "link": (86, None),
    "linkat": (265, 37),
    "symlink": (88, None),
    "symlinkat": (266, 36),
    "unlink": (87, None),
    "unlinkat": (263, 35),
    "mkdir": (83, None),
    "mkdirat": (258, 34),
    "rmdir": (84, None),
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "creat": (85, None),
    "open": (2, None),
    "openat": (257, 56),
}
#: Which argument of a call is the open file that it writes; it counts when that lies in the folder that is watched.
_FILE = {
    "write": 0,
    "pwrite64": 0,
    "writev": 0,
    "pwritev": 0,
    "pwritev2": 0,
    "sendfile": 0,
    "copy_file_range": 2,
    "fallocate": 0,
    "fsync": 0,
    "fdatasync": 0,
    "ftruncate": 0,
    "fchmod": 0,
}
#: Which argument of a call holds the flags that tell whether it makes or empties a file.
_FLAGS = {"open": 1, "openat": 2}
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}

_TRACEME, _CONT, _SETOPTIONS, _GET_SYSCALL_INFO = 0, 7, 0x4200, 0x420E
_FORKS, _CLONES, _SECCOMP_STOPS, _EXITKILL = 1 << 1 | 1 << 2, 1 << 3, 1 << 7, 1 << 20
_EVENT_SECCOMP = 7
_ANY_THREAD = 0x40000000
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2
_RET_ALLOW, _RET_TRACE = 0x7FFF0000, 0x7FF00000
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
#: Seconds after which a process is no longer waited for.
PATIENCE = 120


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.POINTER(_Instruction)))


class _CallInfo(ctypes.Structure):
    _fields_ = (
        ("op", ctypes.c_uint8),
        ("pad", ctypes.c_uint8 * 3),
        ("arch", ctypes.c_uint32),
        ("instruction_pointer", ctypes.c_uint64),
        ("stack_pointer", ctypes.c_uint64),
        ("number", ctypes.c_uint64),
        ("arguments", ctypes.c_uint64 * 6),
        ("ret_data", ctypes.c_uint32),
    )


@dataclass(frozen=True)
class Ended:
    """How a process ended. ``at`` is the call before which it was killed; "" when it was not.

    ``calls`` is how many writing calls were counted; ``fault`` is set when it ended in any other way than it should.
    ``made`` names each call with the file it wrote, as far as it was handed an open one: "fsync memory.db".
    """

    at: str
    calls: int
    fault: str = ""
    made: tuple[str, ...] = ()


def why_not() -> str:
    """Why no process can be stopped on this machine; "" when one can."""
    if sys.platform != "linux" or platform.machine() not in _MACHINES:
        return f"no process can be stopped at a system call on {sys.platform} {platform.machine()}"
    ended = run(lambda: None, 0, Path("/"))
    return f"no process may be traced here ({ended.fault})" if ended.fault else ""


def run(
    play: Callable[[], object], point: int, below: Path, look: Callable[[int, str], object] = lambda number, call: None
) -> Ended:
    """Play something in a process of its own and kill it before its write number ``point``; with 0 let it end.

    Only files below the folder count. This process must have no other threads. ``look`` is called before each write,
    with its number and its name, while the thread that would make it waits.
    """
    child = os.fork()
    if not child:
        _be_traced(play)
    return _watch(child, point, str(below.resolve()), look)


def _be_traced(play: Callable[[], object]) -> None:
    """The process that is watched; never returns."""
    code = 1
    try:
        os.setpgid(0, 0)  # its threads are waited for as this group, past any other child of whoever watches
        signal.alarm(PATIENCE)
        with Path(os.devnull).open("wb") as nothing:
            os.dup2(nothing.fileno(), 1)
        _libc().ptrace(_TRACEME, 0, 0, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        _install_filter()
        play()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _watch(child: int, point: int, below: str, look: Callable[[int, str], object]) -> Ended:
    """Let it run from stop to stop, and kill it when its number has come."""
    names, libc = _names(), _libc()
    count, at, made = 0, "", list[str]()
    _, status = os.waitpid(child, _ANY_THREAD | os.WUNTRACED)
    if not os.WIFSTOPPED(status) or libc.ptrace(_SETOPTIONS, child, 0, _FORKS | _CLONES | _SECCOMP_STOPS | _EXITKILL):
        _end(child)
        return Ended("", 0, "ptrace is refused")
    libc.ptrace(_CONT, child, 0, 0)
    ended = None
    while ended is None:
        thread, status = os.waitpid(-child, _ANY_THREAD)
        if not os.WIFSTOPPED(status):
            ended = status if thread == child else None
            continue
        number = os.WSTOPSIG(status)
        if status >> 16 == _EVENT_SECCOMP and (call := _counted(libc, thread, names, below)):
            count += 1
            made.append(call)
            if count == point and not at:
                at = call.partition(" ")[0]
                os.killpg(child, signal.SIGKILL)
                continue
            look(count, call)
        # A new thread begins with a stop of its own; any other signal is meant for the process.
        libc.ptrace(_CONT, thread, 0, 0 if number in (signal.SIGTRAP, signal.SIGSTOP) else number)
    _reap(child)
    return Ended(at, count, "" if at or ended == 0 else said(ended), tuple(made))


def _counted(libc: ctypes.CDLL, thread: int, names: dict[int, str], below: str) -> str:
    """The name of the call a thread is about to make, and of its file, if it writes to one that counts."""
    info = _CallInfo()
    if libc.ptrace(_GET_SYSCALL_INFO, thread, ctypes.sizeof(info), ctypes.addressof(info)) <= 0:
        return ""
    call = names.get(info.number, "")
    if call in _FILE:
        which = info.arguments[_FILE[call]] & 0xFFFFFFFF
        with suppress(OSError):
            file = os.readlink(f"/proc/{thread}/fd/{which}")
            return f"{call} {os.path.relpath(file, below)}" if file.startswith(below) else ""
        return ""
    if call in _FLAGS and not info.arguments[_FLAGS[call]] & (os.O_CREAT | os.O_TRUNC):
        return ""
    return call


def said(status: int) -> str:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return f"took longer than {PATIENCE} s" if number == signal.SIGALRM else f"died of signal {number}"
    return f"ended with code {os.WEXITSTATUS(status)}"


def _end(child: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    _reap(child)


def _reap(child: int) -> None:
    """Wait for whatever is left of a process that has ended."""
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-child, _ANY_THREAD)


def _names() -> dict[int, str]:
    column = _MACHINES[platform.machine()][0]
    return {number: name for name, numbers in _CALLS.items() if (number := numbers[column]) is not None}


def _install_filter() -> None:
    """Stop this process, and every thread it makes, before each of the calls; a system call in disguise passes."""
    libc = _libc()
    numbers, arch = sorted(_names()), _MACHINES[platform.machine()][1]
    code = [
        (_LOAD, 0, 0, 4),
        (_JUMP_IF_EQUAL, 1, 0, arch),
        (_RETURN, 0, 0, _RET_ALLOW),
        (_LOAD, 0, 0, 0),
        *((_JUMP_IF_EQUAL, len(numbers) - at, 0, number) for at, number in enumerate(numbers)),
        (_RETURN, 0, 0, _RET_ALLOW),
        (_RETURN, 0, 0, _RET_TRACE),
    ]
    program = (_Instruction * len(code))(*(_Instruction(*line) for line in code))
    handed = _Program(len(code), program)
    libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    if libc.prctl(_SET_SECCOMP, _FILTER, ctypes.addressof(handed), 0, 0):
        raise OSError(ctypes.get_errno(), "no filter of system calls can be set")


def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    libc.ptrace.restype = ctypes.c_long
    libc.prctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong]
    return libc
