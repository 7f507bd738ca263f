"""Messages and summaries as units that are found by what is known of them: their fields, and the metadata of messages.

A filter is (field or key of the metadata, operator, value); what passes is found by the database. Metadata of a message
are values of JSON by name. They go with their message.

Guarantees: a value that is not there passes ``!=`` and ``not in``, and ``== None``; nothing else. What is hidden or
archived is never found.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from domain import errors
from domain.forests import DERIVED, OPERATORS, UNKNOWN_SPEAKER, UnitFilter, UnitPlace
from domain.records import PREFIX
from domain.text import clean_text
from domain.tree import LIFE
from storage.engine import EACH, Database, Transaction

_SEARCHED = "NOT EXISTS (SELECT 1 FROM archived_memory f WHERE f.text_id = {0})"
_BESIDE = (
    "(SELECT b.text_id FROM conversation b WHERE b.session_id = c.session_id AND b.position {0} c.position"
    " AND b.hidden = 0 ORDER BY b.position {1} LIMIT 1)"
)
_VISITS = (
    "coalesce(v.visit_count, 0) AS visit_count, coalesce(v.last_visit, 0) AS last_visit,"
    " coalesce(v.never_delete, 0) AS never_delete"
)
_WORDS = " ".join(f"WHEN '{role}' THEN {len(prefix) + 1}" for role, prefix in PREFIX.items())
#: Messages as units; the summary of a session has the id of the session. The value is the name of an unknown speaker.
_MESSAGES = (
    f"SELECT c.seq, c.text_id AS id, substr(c.text, CASE c.role {_WORDS} END) AS content, 0 AS rank,"
    " CASE WHEN c.speaker = ? THEN NULL WHEN c.speaker <> '' THEN c.speaker WHEN c.role = 'user' THEN 'user'"
    " ELSE 'ai' END AS source, c.instant AS creation_time, c.instant AS end_time,"
    " coalesce(g.text_id, m.session_id) AS parent_id, c.session_id AS group_id, c.session_id, c.role, c.round,"
    f" {_BESIDE.format('<', 'DESC')} AS pre_id, {_BESIDE.format('>', '')} AS next_id, {_VISITS},"
    " s.position AS place, c.position"
    " FROM conversation c JOIN session s ON s.session_id = c.session_id"
    " LEFT JOIN summary m ON m.session_id = c.session_id AND m.summary <> ''"
    " LEFT JOIN chapter g ON g.seq = c.chapter AND g.text <> ''"
    " LEFT JOIN visit v ON v.text_id = c.text_id WHERE c.hidden = 0"
)
#: Summaries of sessions, and chapters.
_SUMMARIES = (
    "SELECT -1 AS seq, a.id, a.content, a.rank, 'ai' AS source, a.creation_time, a.end_time, a.parent_id, a.group_id,"
    f" a.session_id, NULL AS role, NULL AS round, NULL AS pre_id, NULL AS next_id, {_VISITS},"
    " a.creation_time AS place, -a.rank AS position FROM ("
    " SELECT m.session_id AS id, m.summary AS content, 1 AS rank, s.instant AS creation_time,"
    " (SELECT max(t.instant) FROM conversation t WHERE t.session_id = s.session_id) AS end_time,"
    f" coalesce(g.text_id, '{LIFE}') AS parent_id, NULL AS group_id, m.session_id"
    " FROM summary m JOIN session s ON s.session_id = m.session_id LEFT JOIN chapter g ON g.seq = s.chapter"
    " WHERE m.summary <> '' UNION ALL"
    " SELECT c.text_id, c.text, CASE WHEN c.session_id IS NULL THEN 2 ELSE 1 END,"
    " (SELECT min(o.began) FROM under o WHERE o.chapter = c.seq),"
    " (SELECT max(o.ended) FROM under o WHERE o.chapter = c.seq),"
    f" coalesce(p.text_id, c.session_id, '{LIFE}'), c.session_id, c.session_id"
    " FROM chapter c LEFT JOIN chapter p ON p.seq = c.parent WHERE c.text <> '' AND c.height > 0) a"
    " LEFT JOIN visit v ON v.text_id = a.id"
)
#: What is under each chapter, with when it began and ended.
_UNDER = (
    "WITH RECURSIVE under (chapter, began, ended) AS ("
    "SELECT s.chapter, s.instant, (SELECT max(t.instant) FROM conversation t WHERE t.session_id = s.session_id)"
    " FROM session s WHERE s.chapter IS NOT NULL UNION ALL"
    " SELECT t.chapter, t.instant, t.instant FROM conversation t WHERE t.chapter IS NOT NULL UNION ALL"
    " SELECT c.parent, u.began, u.ended FROM under u JOIN chapter c ON c.seq = u.chapter WHERE c.parent IS NOT NULL) "
)
#: What each field is compared as.
_FIELDS: Mapping[str, type] = {
    "id": str, "content": str, "source": str, "parent_id": str, "group_id": str, "pre_id": str, "next_id": str,
    "session_id": str, "role": str, "rank": float, "round": float, "last_visit": float, "visit_count": float,
    "never_delete": float, "creation_time": datetime, "end_time": datetime,
}  # fmt: skip
_COMPARED = {"==": "=", "!=": "<>"}
_META = "SELECT 1 FROM message_metadata d WHERE d.message = u.seq AND d.key = ?"

#: A condition in SQL, and its values.
Condition = tuple[str, list[object]]


class Units:
    """Finds units, and reads and writes the table ``message_metadata``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, tx: Transaction, message: int, metadata: Mapping[str, Any]) -> None:
        """Store the metadata of a new message, by its number."""
        rows = []
        for key, value in metadata.items():
            text = _as_json(value)
            number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
            rows.append((message, clean_text(str(key)), text, number))
        tx.many("INSERT INTO message_metadata (message, key, value, number) VALUES (?, ?, ?, ?)", rows)

    def metadata(self, text_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The metadata of messages, by id; only of those that have some, and of none that is hidden."""
        query = (
            "SELECT c.text_id, d.key, d.value FROM conversation c JOIN message_metadata d ON d.message = c.seq"
            f" WHERE c.text_id IN {EACH} AND c.hidden = 0 ORDER BY d.key"
        )
        found: dict[str, dict[str, Any]] = defaultdict(dict)
        for text_id, key, value in self._database.run(query, list(text_ids)):
            found[text_id][key] = json.loads(value)
        return dict(found)

    def places(self, text_ids: Sequence[str]) -> dict[str, UnitPlace]:
        """Where messages are among the units, and their visits, by id; nothing of what is hidden or gone."""
        columns = ", ".join(f"u.{name}" for name in UnitPlace._fields)
        query = f"SELECT u.id, {columns} FROM ({_MESSAGES} AND c.text_id IN {EACH}) u"
        rows = self._database.run(query, UNKNOWN_SPEAKER, list(text_ids))
        return {row[0]: UnitPlace(row[1], row[2], row[3], row[4], row[5], bool(row[6])) for row in rows}

    def find(
        self,
        filters: Sequence[UnitFilter],
        most: int,
        *,
        among: Collection[str] | None = None,
        besides: Collection[str] = (),
    ) -> list[str]:
        """The ids of the newest messages that pass all filters; of those ``among`` these ids, and not ``besides``.

        Raises UsageError for a filter that makes no sense.
        """
        conditions = [_condition(one) for one in filters]
        conditions.append((_SEARCHED.format("u.id"), []))
        if among is not None:
            conditions.append((f"u.id IN {EACH}", [list(among)]))
        if besides:
            conditions.append((f"u.id NOT IN {EACH}", [list(besides)]))
        return self._find_ids(_MESSAGES, [("u.rank = 0", [UNKNOWN_SPEAKER]), *conditions], most)

    def find_summaries(self, filters: Sequence[UnitFilter], most: int) -> list[str]:
        """The ids of the newest summaries of sessions, and of chapters, that pass all filters."""
        conditions = [("u.rank > 0", list[object]()), *map(_condition, filters)]
        return self._find_ids(_SUMMARIES, conditions, most, _UNDER)

    def _find_ids(self, units: str, conditions: Sequence[Condition], most: int, before: str = "") -> list[str]:
        passing = " AND ".join(f"({sql})" for sql, _ in conditions)
        values = [value for _, given in conditions for value in given]
        query = f"{before}SELECT u.id FROM ({units}) u WHERE {passing} ORDER BY u.place DESC, u.position DESC LIMIT ?"
        return [str(row[0]) for row in self._database.run(query, *values, most)]


def _condition(given: UnitFilter) -> Condition:
    if len(given) != 3 or given[1] not in OPERATORS:
        raise _senseless(given)
    name, how, wanted = given
    if how in ("in", "not in") and (isinstance(wanted, str | Mapping) or not isinstance(wanted, Collection)):
        raise _senseless(given)
    key = name.removeprefix("metadata.")
    if name in _FIELDS and name not in DERIVED:
        return _field_condition(name, how, wanted, given)
    sql, values = _metadata_condition(key, how, wanted, given)
    if key not in DERIVED:
        return sql, values
    derived, more = _field_condition(key, how, wanted, given)
    return f"CASE WHEN EXISTS ({_META}) THEN {sql} ELSE {derived} END", [key, *values, *more]


def _field_condition(name: str, how: str, wanted: Any, given: UnitFilter) -> Condition:
    column, kind = f"u.{name}", _FIELDS[name]
    if how in ("in", "not in"):
        each = [_as_field(one, kind, given) for one in wanted if one is not None]
        if how == "in":
            return f"{column} IN {EACH}", [each]
        return f"{column} IS NULL OR {column} NOT IN {EACH}", [each]
    if wanted is None:
        sides = {"==": f"{column} IS NULL", "!=": f"{column} IS NOT NULL"}
        if how not in sides:
            raise _senseless(given)
        return sides[how], []
    if how == "contains":
        if kind is not str or not isinstance(wanted, str):
            raise _senseless(given)
        return f"instr({column}, ?) > 0", [wanted]
    missing = f"{column} IS NULL OR " if how == "!=" else ""
    return f"{missing}{column} {_COMPARED.get(how, how)} ?", [_as_field(wanted, kind, given)]


def _metadata_condition(key: str, how: str, wanted: Any, given: UnitFilter) -> Condition:
    """Whether a value of the metadata is as it should be; numbers are compared as numbers, texts by their letters."""
    if how in ("!=", "not in"):
        sql, values = _metadata_condition(key, "==" if how == "!=" else "in", wanted, given)
        return f"NOT ({sql})", values
    if how == "==" and wanted is None:
        return f"NOT EXISTS ({_META} AND d.value <> 'null')", [key]
    if how == "in":
        return _among_values(key, f"d.value IN {EACH}", [_as_json(one) for one in wanted])
    is_number = isinstance(wanted, int | float) and not isinstance(wanted, bool)
    text = _as_json(wanted)
    if how == "contains":
        whole = "', ' || substr(d.value, 2, length(d.value) - 2) || ', '"
        within = f"substr(d.value, 1, 1) = '[' AND instr({whole}, ?) > 0"
        if not isinstance(wanted, str):
            return _among_values(key, within, f", {text}, ")
        said = "substr(d.value, 1, 1) = '\"' AND instr(substr(d.value, 2, length(d.value) - 2), ?) > 0"
        return _among_values(key, f"(({said}) OR ({within}))", text[1:-1], f", {text}, ")
    if is_number:
        return _among_values(key, f"d.number {_COMPARED.get(how, how)} ?", float(wanted))
    if how == "==":
        return _among_values(key, "d.value = ?", text)
    if not text.startswith('"'):
        raise _senseless(given)
    letters = f"substr(d.value, 2, length(d.value) - 2) {how} ?"
    return _among_values(key, f"substr(d.value, 1, 1) = '\"' AND {letters}", text[1:-1])


def _among_values(key: str, condition: str, *values: object) -> Condition:
    sql = f"u.seq IN (SELECT d.message FROM message_metadata d WHERE d.key = ? AND {condition})"
    return sql, [key, *values]


def _as_field(wanted: Any, kind: type, given: UnitFilter) -> object:
    """A value as the column of a field has it: a time as its instant; one without an offset is local."""
    if kind is datetime:
        try:
            moment = datetime.fromisoformat(wanted) if isinstance(wanted, str) else wanted
        except ValueError:
            moment = None
        if isinstance(moment, datetime):
            return moment.timestamp()
    elif kind is float and isinstance(wanted, int | float):
        return float(wanted)
    elif kind is str and isinstance(wanted, str):
        return clean_text(wanted)
    raise _senseless(given)


def _as_json(value: Any) -> str:
    return clean_text(json.dumps(value, ensure_ascii=False, sort_keys=True, default=_plain))


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return list(value) if isinstance(value, set | frozenset | tuple) else str(value)


def _senseless(given: object) -> errors.UsageError:
    return errors.UsageError("memforest.filter", given=given, operators=", ".join(OPERATORS))
