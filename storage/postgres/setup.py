"""Prepares a database for memories: tables, roles, and who may do what; and rewrites it after erasures. Safe to repeat.

Tables belong to a role that no one logs in as; the program logs in as another one, which owns nothing, so that
row-level security holds for it.
"""

from __future__ import annotations

from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.errors import Diagnostic

from domain import errors
from domain.patterns import pattern_of
from domain.text import mask_url
from storage.postgres.database import as_ours

#: To whom everything belongs.
OWNER = "old_friend_owner"
#: How long a table that is to be rewritten is waited for.
_PATIENCE = "10s"
_EVERY_TABLE = (
    "SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE c.relkind IN ('r', 'm') AND n.nspname IN ('public', 'registry') ORDER BY 1, 2"
)
#: How the detail begins that VACUUM adds where an older transaction may still read rows that are removed: their number.
_STILL_SEEN = pattern_of(r"[1-9]")
_GRANTS = (
    "GRANT USAGE ON SCHEMA public, registry TO {role}",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public, registry TO {role}",
    "GRANT USAGE ON ALL SEQUENCES IN SCHEMA registry TO {role}",
    "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO {role}",
)


def initialise(administrator: str, url: str) -> None:
    """Make the database that ``url`` names, where there is none, and lay down what a memory needs.

    ``administrator`` is the address of a role that may make roles and databases; ``url`` says as whom the program logs
    in, and with which password. Raises StorageError.
    """
    wanted = conninfo_to_dict(url)
    role, name = str(wanted.get("user") or ""), str(wanted.get("dbname") or wanted.get("user") or "")
    with as_ours(mask_url(administrator)):
        if not role or role == conninfo_to_dict(administrator).get("user"):
            raise errors.StorageError("database.role", path=mask_url(url), what="owner")
        with psycopg.connect(administrator, autocommit=True) as connection:
            if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone():
                # Ids are compared by their bytes.
                made = "CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'"
                connection.execute(sql.SQL(made).format(sql.Identifier(name)))
            _add_role(connection, OWNER, "NOLOGIN", None)
            _add_role(connection, role, "LOGIN", wanted.get("password"))
        with psycopg.connect(make_conninfo(administrator, dbname=name)) as connection:
            connection.execute("SELECT pg_advisory_xact_lock(7207)")  # two that prepare it at once
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            if connection.execute("SELECT to_regclass('public.conversation') IS NULL").fetchone() == (True,):
                connection.execute(sql.SQL("GRANT CREATE ON SCHEMA public TO {}").format(sql.Identifier(OWNER)))
                granted = sql.SQL("GRANT CREATE ON DATABASE {} TO {}")
                connection.execute(granted.format(sql.Identifier(name), sql.Identifier(OWNER)))
                connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(OWNER)))
                for file in ("schema.sql", "registry.sql"):
                    script = Path(__file__).with_name(file).read_text(encoding="utf-8")
                    connection.execute(script.encode())
                connection.execute("RESET ROLE")
            for grant in _GRANTS:
                connection.execute(sql.SQL(grant).format(role=sql.Identifier(role)))


def rewrite(administrator: str, url: str) -> tuple[int, list[str]]:
    """Rewrite every table, so that no file of one has bytes of rows that were removed.

    Returns how many tables are free of them, and what was not done, with the reason: a table that this role may not
    rewrite, that somebody uses for longer than ``_PATIENCE``, or of which an open transaction may still read removed
    rows; the checkpoint that lets the former files go, and the end of the present file of the WAL. Raises StorageError.
    """
    with as_ours(mask_url(administrator)):
        name = str(conninfo_to_dict(url).get("dbname") or conninfo_to_dict(url).get("user") or "")
        with psycopg.connect(make_conninfo(administrator, dbname=name), autocommit=True) as connection:
            notices = list[str]()

            def note(notice: Diagnostic) -> None:
                detail = notice.message_detail or ""
                if notice.severity_nonlocalized == "WARNING":  # the table was passed over
                    notices.append(notice.message_primary or "")
                elif _STILL_SEEN.match(detail):
                    notices.append(detail.splitlines()[0])

            connection.add_notice_handler(note)
            connection.execute(f"SET lock_timeout = '{_PATIENCE}'".encode())
            done, left = 0, list[str]()
            for schema, table in connection.execute(_EVERY_TABLE).fetchall():
                notices.clear()
                place = sql.Identifier(str(schema), str(table))
                failed = _try(connection, sql.SQL("VACUUM (FULL, VERBOSE) {}").format(place), str(table))
                failed += [f"{table}: {notice}" for notice in notices]
                done, left = done + (not failed), left + failed
            for act in ("SELECT pg_switch_wal()", "CHECKPOINT"):
                left += _try(connection, sql.SQL(act), act)
    return done, left


def _try(connection: psycopg.Connection[tuple[object, ...]], statement: sql.SQL | sql.Composed, name: str) -> list[str]:
    """Run a statement; where it is refused, what was not done and why."""
    try:
        connection.execute(statement)
    except psycopg.Error as fault:
        return [f"{name}: {' '.join(str(fault).split())}"]
    return []


def _add_role(connection: psycopg.Connection[tuple[object, ...]], role: str, may: str, password: object) -> None:
    """A role that is no superuser and goes past no policy, made where there is none; it gets this password."""
    known = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role]).fetchone()
    made = sql.SQL("{} ROLE {} " + may + " NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE").format(
        sql.SQL("ALTER" if known else "CREATE"), sql.Identifier(role)
    )
    connection.execute(made + sql.SQL(" PASSWORD {}").format(sql.Literal(password)) if password else made)
