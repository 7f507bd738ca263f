"""Without any token only the account that runs the server is let in; where that cannot be known a token is made."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from interfaces.http.guards import TABLES, Address, account_of, can_be_known, listed_account
from tests.support.program import run
from tests.support.served import PATIENCE, ended, here, program, started

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode"
#: What a row has behind its state and before its account.
QUEUES = "00000000:00000000 00:00000000 00000000"
ONE, MAPPED = "00000000000000000000000001000000", "0000000000000000FFFF00000100007F"
#: Both ends of connections, as a machine with little-endian words lists them.
TCP = f"""{HEAD}
   0: 0100007F:1FBB 00000000:0000 0A {QUEUES}     0        0 11 1 0000 100 0 0 10 0
   1: 0100007F:1FBB 0100007F:9C40 01 {QUEUES}     0        0 12 1 0000 20 4 30 10 -1
   2: 0100007F:9C40 0100007F:1FBB 01 {QUEUES}  1000        0 13 1 0000 20 4 30 10 -1
   3: 0100007F:9C41 0100007F:1FBB 06 {QUEUES}     0        0 0 3 0000
   4: 0101A8C0:9C40 0100007F:1FBB 01 {QUEUES}  1001        0 14 1 0000 20 4 30 10 -1
"""
TCP6 = f"""{HEAD}
   0: {ONE}:9C40 {ONE}:1FBB 01 {QUEUES}  1002        0 21 1 0000
   1: {MAPPED}:9C42 {MAPPED}:1FBB 01 {QUEUES}  1003        0 22 1 0000
"""
SERVER = ("127.0.0.1", 8123)
#: Started as root, it becomes somebody else before it connects.
STRANGER = """
import encodings.idna, http.client, json, os, sys
port, uid = map(int, sys.argv[1:3])
os.setgroups([]); os.setgid(uid); os.setuid(uid)
for method, path, body in json.loads(sys.argv[3]):
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    line.request(method, path, json.dumps(body) if body else None, {"Content-Type": "application/json"})
    came = line.getresponse()
    print(json.dumps([came.status, json.loads(came.read())]))
"""


@pytest.mark.parametrize(
    ("table", "near", "far", "account"),
    [
        (TCP, ("127.0.0.1", 40000), SERVER, 1000),
        (TCP, ("192.168.1.1", 40000), SERVER, 1001),
        (TCP, ("::ffff:127.0.0.1", 40000), ("::ffff:127.0.0.1", 8123), 1000),
        (TCP, ("127.0.0.1", 40002), SERVER, None),
        (TCP, ("127.0.0.1", 40000), ("127.0.0.1", 8124), None),
        (TCP6, ("::1", 40000), ("::1", 8123), 1002),
        (TCP6, ("127.0.0.1", 40002), SERVER, 1003),
        (TCP6, ("::ffff:127.0.0.1", 40002), ("::ffff:127.0.0.1", 8123), 1003),
        (TCP6, ("::1%lo", 40000), ("::1", 8123), 1002),
        (TCP6, ("::2", 40000), ("::1", 8123), None),
        ("", ("127.0.0.1", 40000), SERVER, None),
        ("garbage\n1: 2 3\n", ("127.0.0.1", 40000), SERVER, None),
    ],
)
def test_a_connection_is_found_in_the_tables_of_the_system(
    table: str, near: Address, far: Address, account: int | None
) -> None:
    assert listed_account(table.splitlines(), near, far, "little") == account


def test_words_are_read_in_the_order_of_the_machine() -> None:
    four = "0: 7F000001:9C40 7F000001:1FBB 01 0:0 00:0 0  1000        0 13 1"
    six = f"0: {'0' * 31}1:9C40 {'0' * 31}1:1FBB 01 0:0 00:0 0  1002        0 13 1"
    mapped = f"0: {'0' * 20}FFFF7F000001:9C40 {'0' * 20}FFFF7F000001:1FBB 01 0:0 00:0 0  1003        0 13 1"
    assert listed_account([four], ("127.0.0.1", 40000), SERVER, "big") == 1000
    assert listed_account([four], ("127.0.0.1", 40000), SERVER, "little") is None
    assert listed_account([six], ("::1", 40000), ("::1", 8123), "big") == 1002
    assert listed_account([mapped], ("127.0.0.1", 40000), SERVER, "big") == 1003


def test_a_connection_that_no_program_holds_belongs_to_no_account() -> None:
    assert listed_account(TCP.splitlines(), ("127.0.0.1", 40001), SERVER, "little") is None


@pytest.mark.skipif(not TABLES[0].exists(), reason="the system lists no connections")
@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
def test_the_account_of_a_real_connection_is_found(host: str) -> None:
    family, at = (socket.AF_INET6, "::1") if host == "::1" else (socket.AF_INET, "127.0.0.1")
    try:
        server = socket.create_server((at, 0), family=family)
    except OSError:
        pytest.skip("there is no IPv6 here")
    with closing(server), socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as near:
        near.connect((host, server.getsockname()[1]))
        held, peer = server.accept()
        with held:
            assert account_of(peer[:2], held.getsockname()[:2]) == os.geteuid()
            assert can_be_known(server.getsockname()[0])


def test_the_own_account_is_let_in_and_another_is_not(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    asked = [
        ("POST", "/process", {"input": "I am a stranger.", "user_id": "me"}),
        ("POST", "/v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": "Who am I?"}]}),
        ("GET", "/page/now", None),
        ("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
    ]
    with here(tmp_path) as server:
        assert server.ask("GET", "/page/now").status == 200
        command = [sys.executable, "-c", STRANGER, str(server.port)]
        for uid, statuses in ((65534, {401}), (0, {200, 400, 406})):
            came = subprocess.run(
                [*command, str(uid), json.dumps(asked)], capture_output=True, text=True, timeout=PATIENCE, check=True
            )
            answers = [json.loads(line) for line in came.stdout.splitlines()]
            assert len(answers) == len(asked)
            assert {status for status, _ in answers} <= statuses
            if uid:
                assert answers[0][1]["error"]["code"] == "unauthorized"
                assert answers[1][1]["error"]["code"] == "invalid_api_key"
                assert isinstance(answers[2][1]["detail"], str)


def blind(folder: Path) -> Path:
    """The program on a system that lists no connections."""
    script = folder / "blind.py"
    script.write_text(
        "import main\nfrom interfaces.http import guards\nguards.TABLES = ()\nmain._end_process(main.main())\n",
        encoding="utf-8",
    )
    return script


def test_where_the_account_cannot_be_known_the_first_start_makes_a_token_and_shows_it_once(tmp_path: Path) -> None:
    script = blind(tmp_path)
    with program(tmp_path, script=script) as server:
        assert f"Base URL: http://127.0.0.1:{server.port}" in server.lines[-1]
        assert server.process
        assert server.process.stdout
        secret = server.process.stdout.readline().strip()
        path = tmp_path / "data" / "server-token"
        assert path.read_text(encoding="utf-8").strip() == secret
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert secret not in "".join(server.lines)
        assert server.ask("GET", "/page/now").status == 401
        assert server.ask("GET", "/page/now", token=secret).json["person"] == "me"
        code, out, _ = ended(server)
        assert (code, secret in out) == (0, False)
    with program(tmp_path, script=script) as again:
        assert again.ask("GET", "/page/now", token=secret).status == 200
        assert "this-machine" in again.lines[-1]
        assert secret not in "".join(again.lines) + ended(again)[1]


def test_names_that_other_machines_may_call_need_a_token(tmp_path: Path) -> None:
    refused = started(tmp_path, SERVER_NAMES="memory.example.org")
    out, err = refused.communicate(timeout=PATIENCE)
    assert (refused.returncode, out, err.count("\n")) == (2, "", 1)
    assert "SERVER_NAMES" in err
    assert "--token add" in err
    secret = run(tmp_path, "--token", "add", "phone").out.split()[-1]
    with program(tmp_path, SERVER_NAMES="memory.example.org") as server:
        assert server.ask("GET", "/page/now", token=secret, Host="memory.example.org").status == 200


def test_a_server_whose_system_tells_the_account_makes_no_token(tmp_path: Path) -> None:
    with program(tmp_path) as server:
        assert server.ask("GET", "/page/now").status == 200
    assert not (tmp_path / "data" / "server-token").exists()
