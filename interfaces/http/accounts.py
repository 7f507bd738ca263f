"""Which account of this machine is at the other end of a loopback connection, as far as the system knows.

Linux lists every connection with the account that owns it: IPv4 in ``/proc/net/tcp``, IPv6 in ``/proc/net/tcp6``, where
an IPv6 socket that talks IPv4 is listed too. An address is written as words of the machine's own byte order.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

#: A host, an IP address without a name, and a port.
Address = tuple[str, int]
#: The account that owns the first end of a connection to the second; None where it cannot be known.
AccountOf = Callable[[Address, Address], int | None]

#: Where the system lists its connections.
TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_LOCAL, _REMOTE, _ACCOUNT, _INODE = 1, 2, 7, 9
#: The inode of a connection whose program has ended: its account cannot be trusted.
_NO_PROGRAM = "0"


def account_of(near: Address, far: Address) -> int | None:
    """The account that owns the end ``near`` of a connection to ``far``."""
    for table in TABLES:
        try:
            with table.open(encoding="ascii", errors="replace") as lines:
                found = listed_account(lines, near, far)
        except OSError:
            continue
        if found is not None:
            return found
    return None


def listed_account(lines: Iterable[str], near: Address, far: Address, order: str = sys.byteorder) -> int | None:
    """The account of a connection in such a table.

    >>> row = "0: 0100007F:9C40 0100007F:1FBB 01 00000000:00000000 00:00000000 00000000  1000        0 54321 1"
    >>> listed_account([row], ("127.0.0.1", 40000), ("127.0.0.1", 8123), "little")
    1000
    """
    wanted = set(zip(_table_entries(near, order), _table_entries(far, order), strict=True))
    for line in lines:
        fields = line.split()
        if len(fields) > _INODE and (fields[_LOCAL], fields[_REMOTE]) in wanted:
            return int(fields[_ACCOUNT]) if fields[_INODE] != _NO_PROGRAM else None
    return None


def can_be_known(host: str) -> bool:
    """Whether the account behind a connection to this loopback address is listed: tried with one of our own."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with (
            socket.create_server((host, 0), family=family) as server,
            socket.create_connection(server.getsockname()[:2]) as own,
        ):
            return account_of(own.getsockname()[:2], own.getpeername()[:2]) == os.geteuid()
    except OSError:
        return False


def _table_entries(address: Address, order: str) -> Iterator[str]:
    """The entries of an address in the tables: IPv4 and IPv4-mapped IPv6, or IPv6 twice."""
    host, port = ipaddress.ip_address(address[0].partition("%")[0]), address[1]
    if isinstance(host, ipaddress.IPv6Address) and host.ipv4_mapped:
        host = host.ipv4_mapped
    mapped = host if host.version == 6 else ipaddress.IPv6Address(f"::ffff:{host}")
    for packed in (host.packed, mapped.packed):
        words = (packed[at : at + 4] for at in range(0, len(packed), 4))
        yield "".join(f"{_read_word(word, order):08X}" for word in words) + f":{port:04X}"


def _read_word(word: bytes, order: str) -> int:
    return int.from_bytes(word, "little" if order == "little" else "big")
