"""Prepares a database for memories: tables, roles, and who may do what. Safe to repeat.

Tables belong to a role that no one logs in as; the program logs in as another one, which owns nothing, so that
row-level security holds for it.
"""

from __future__ import annotations

from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from domain import errors
from domain.text import mask_url
from storage.postgres.database import as_ours

#: To whom everything belongs.
OWNER = "old_friend_owner"
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


def _add_role(connection: psycopg.Connection[tuple[object, ...]], role: str, may: str, password: object) -> None:
    """A role that is no superuser and goes past no policy, made where there is none; it gets this password."""
    known = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role]).fetchone()
    made = sql.SQL("{} ROLE {} " + may + " NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE").format(
        sql.SQL("ALTER" if known else "CREATE"), sql.Identifier(role)
    )
    connection.execute(made + sql.SQL(" PASSWORD {}").format(sql.Literal(password)) if password else made)
