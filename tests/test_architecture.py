"""The house matches its plan: arrows point down, no circle, one name for one thing, a turn that can be followed."""

from __future__ import annotations

import ast
import re
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import FrameType

import pytest

from domain.workers import CancelToken
from tests.support.house import friend, house
from tests.support.server import ScriptedServer, say

ROOT = Path(__file__).resolve().parents[1]
#: The floors, from the ground up: a room may import from a lower one, and from no other room of its own floor.
FLOORS = (
    ("domain",),
    ("language",),
    ("importers",),
    ("prompts", "config"),
    ("storage",),
    ("recall",),
    ("facts",),
    ("memory", "models"),
    ("llm",),
    ("jobs",),
    ("client_history",),
    ("conversation",),
    ("companion",),
    ("people",),
    ("interfaces",),
    ("main",),
)
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
SCREEN = {"rich", "prompt_toolkit", "pygments"}
#: A turn that needs more files than this can no longer be followed by a reader.
MOST_FILES_OF_A_TURN = 43


def sources() -> Iterator[Path]:
    for room in FLOOR:
        whole = ROOT / room
        yield from sorted(whole.rglob("*.py")) if whole.is_dir() else [whole.with_suffix(".py")]


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_of(path): path for path in sources()}


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module", autouse=True)
def _trees_of_this_module_alone() -> Iterator[None]:
    """The trees are read once for all tests of this module, and take much memory."""
    yield
    tree_of.cache_clear()


@cache
def imports_of(path: Path) -> tuple[tuple[int, str], ...]:
    """Every import, also those inside of functions and for type checking: line and module."""
    imported = list[tuple[int, str]]()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            imported += ((node.lineno, name.name) for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            inside = [f"{node.module}.{name.name}" for name in node.names]
            found = [name for name in inside if name in MODULES]
            imported += ((node.lineno, name) for name in found or [node.module])
    return tuple(imported)


def room_of(module: str) -> str:
    return module.split(".", maxsplit=1)[0]


def test_no_import_points_up() -> None:
    upward = [
        f"{path.relative_to(ROOT)}:{line} imports {module}"
        for path in MODULES.values()
        for line, module in imports_of(path)
        if room_of(module) in FLOOR
        and room_of(module) != room_of(module_of(path))
        and FLOOR[room_of(module)] >= FLOOR[room_of(module_of(path))]
    ]
    assert upward == []


def test_what_everybody_speaks_of_imports_nothing_of_ours() -> None:
    found = {
        f"{path.name}: {module}"
        for path in MODULES.values()
        if room_of(module_of(path)) == "domain"
        for _, module in imports_of(path)
        if room_of(module) in FLOOR and room_of(module) != "domain"
    }
    assert found == set()


def test_an_interface_reaches_what_is_stored_and_found_only_through_the_memory() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line} {module}"
        for path in MODULES.values()
        if room_of(module_of(path)) in ("interfaces", "main")
        for line, module in imports_of(path)
        if room_of(module) in ("storage", "recall")
    ]
    assert found == []


def test_nothing_below_the_interfaces_knows_a_screen() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line} {module}"
        for path in MODULES.values()
        if FLOOR[room_of(module_of(path))] < FLOOR["interfaces"]
        for line, module in imports_of(path)
        if room_of(module) in SCREEN
    ]
    assert found == []


def test_tests_lie_in_folders_that_are_named_as_the_rooms_they_speak_of() -> None:
    folders = [path.parent.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("test_*.py")]
    strange = {str(one) for one in folders if not (ROOT / one).is_dir()}
    assert strange <= {"clients", "contract", "mutate", "torture"}


def test_no_files_import_each_other_in_a_circle() -> None:
    arrows = {
        name: {module for _, module in imports_of(path) if module in MODULES and module != name}
        for name, path in MODULES.items()
    }
    done: set[str] = set()

    def visit(name: str, way: tuple[str, ...]) -> list[str]:
        if name in way:
            return [" > ".join([*way[way.index(name) :], name])]
        if name in done:
            return []
        found = [circle for other in sorted(arrows[name]) for circle in visit(other, (*way, name))]
        done.add(name)
        return found

    assert [circle for name in sorted(arrows) for circle in visit(name, ())] == []


def test_a_public_class_has_a_name_of_its_own() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for name, path in MODULES.items():
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(name)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


#: One subject may have one name in each of these: what is said of it, its repository, its tables, its index.
LAYERS = ("domain", "storage", "storage.sqlite", "storage.postgres", "storage.vectors")


def test_a_file_has_a_name_of_its_own() -> None:
    """But where one subject goes by one name through the layers of what is stored, or through the languages.

    What a room makes, or finds, may go by one name with the repository that stores it.
    """
    places: dict[str, set[str]] = defaultdict(set)
    for name, path in MODULES.items():
        room, _, file = name.rpartition(".")
        if path.name != "__init__.py":
            places[file].add("a layer" if room in LAYERS else room)
    stored = {name.rpartition(".")[2] for name in MODULES if name.startswith("storage.")}
    most = {file: 2 if file in stored else 1 for file in places}
    assert {file: rooms for file, rooms in places.items() if len(rooms) > most[file]} == {}


@pytest.mark.parametrize(
    ("statements", "room", "besides"),
    [
        ("SELECT|INSERT|UPDATE|DELETE", "storage/", ["importers/databases.py"]),
        ("CREATE|PRAGMA|BEGIN|VACUUM", "storage/sqlite/", ["storage/postgres/setup.py"]),
    ],
    ids=["any", "of SQLite alone"],
)
def test_sql_stands_in_one_room(statements: str, room: str, besides: list[str]) -> None:
    statement = re.compile(rf"""["'](?:{statements}) """)
    found = [
        str(path.relative_to(ROOT)) for path in MODULES.values() if statement.search(path.read_text(encoding="utf-8"))
    ]
    assert [path for path in found if not path.startswith(room)] == besides


#: A file of another program that is a database of SQLite by its format.
FOREIGN_FILE = "storage.sqlite.forest_tables"


def test_nothing_above_the_storage_knows_an_engine() -> None:
    imported = [
        f"{path.relative_to(ROOT)}:{line} {module}"
        for path in MODULES.values()
        if FLOOR[room_of(module_of(path))] > FLOOR["storage"]
        for line, module in imports_of(path)
        if module.startswith(("storage.sqlite", "storage.postgres", "sqlite3", "psycopg")) and module != FOREIGN_FILE
    ]
    named = [
        str(path.relative_to(ROOT))
        for path in MODULES.values()
        if FLOOR[room_of(module_of(path))] > FLOOR["storage"]
        and any(re.search(r"memory\.db|_words$|_postings$", text) for text in constants_in(path))
    ]
    assert (imported, named) == ([], [])


def constants_in(path: Path) -> Iterator[str]:
    """The texts of a program, without its docstrings."""
    tree = tree_of(path)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


#: What SQLite alone understands, or what breaks when a table gets one more column.
OF_SQLITE_ALONE = re.compile(
    r"OR REPLACE|OR IGNORE|OR ABORT|OR FAIL|\bGLOB\b|lastrowid|last_insert_rowid|\browid\b|AUTOINCREMENT"
    r"|SELECT (?:\w+\.)?\*|INSERT INTO [\w{}\"]+ (?:VALUES|SELECT)\b|LIMIT -1|sqlite_(?:master|schema)|PRAGMA|VACUUM"
    r"|INDEXED BY"
)


def texts_in(tree: ast.AST) -> Iterator[str]:
    """The texts and names that a program consists of; of an f-string all parts, ``{}`` for what is put in."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield "".join(str(one.value) if isinstance(one, ast.Constant) else "{}" for one in node.values)
        elif isinstance(node, ast.Attribute):
            yield node.attr


def of_sqlite_alone(tree: ast.AST) -> list[str]:
    """What stands in the SQL of a program that only SQLite understands."""
    return sorted({found for text in texts_in(tree) for found in OF_SQLITE_ALONE.findall(text)})


def test_the_sql_of_a_repository_is_understood_by_more_than_sqlite() -> None:
    found = {
        str(path.relative_to(ROOT)): alone
        for path in sorted((ROOT / "storage").rglob("*.py"))
        if path.parent.name != "sqlite" and (alone := of_sqlite_alone(tree_of(path)))
    }
    assert found == {"storage/postgres/setup.py": ["VACUUM"]}  # its own


@pytest.mark.parametrize(
    ("source", "alone"),
    [
        ("run('INSERT OR REPLACE INTO meta (key) VALUES (?)')", ["OR REPLACE"]),
        ("run('INSERT OR IGNORE INTO meta (key) VALUES (?)')", ["OR IGNORE"]),
        ("run('SELECT key FROM meta WHERE key GLOB ?')", ["GLOB"]),
        ("number = cursor.lastrowid", ["lastrowid"]),
        ("run(f'SELECT * FROM {table}')", ["SELECT *"]),
        ("run(f'SELECT t.* FROM {table} t')", ["SELECT t.*"]),
        ("run('INSERT INTO meta VALUES (?)')", ["INSERT INTO meta VALUES"]),
        ("run(f'INSERT INTO {table} SELECT 1')", ["INSERT INTO {} SELECT"]),
        ("run('SELECT key FROM meta LIMIT -1')", ["LIMIT -1"]),
        ("run('SELECT name FROM sqlite_master')", ["sqlite_master"]),
        ("run('PRAGMA user_version')", ["PRAGMA"]),
        ("run('INSERT INTO meta (key) SELECT name FROM counter ON CONFLICT (key) DO NOTHING')", []),
        ("folder.glob('*.txt'); run('SELECT count(*) FROM meta')", []),
    ],
)
def test_sql_of_sqlite_alone_is_told_from_that_of_others(source: str, alone: list[str]) -> None:
    assert of_sqlite_alone(ast.parse(source)) == alone


def test_the_words_of_the_vocabulary_have_the_files_that_it_names() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \*([^|]+)\* \|.*\| `([^`|]+)` \|$", page, re.MULTILINE)
    assert 18 <= len(rows) <= 25, "some twenty words: any other is told by the first lines of its file"
    words = [word for written, _ in rows for word in written.split("*, *")]
    assert sorted(words) == sorted(set(words))
    assert [name for _, name in rows if not (ROOT / name).exists()] == []


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        running.answer = friend
        yield running


@pytest.fixture
def followed() -> Iterator[dict[str, set[str]]]:
    """Which of our functions run, in every thread but that of the index, while the test calls ``sys.setprofile``."""
    entered: dict[str, set[str]] = defaultdict(set)
    ours = {str(path): name for name, path in MODULES.items()}

    def look(frame: FrameType, event: str, _: object) -> None:
        name = ours.get(frame.f_code.co_filename)
        if event == "call" and name and "index" not in threading.current_thread().name:
            entered[name].add(frame.f_code.co_qualname)

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        yield entered
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]


def test_one_turn_can_be_followed_through_a_bounded_number_of_files(
    tmp_path: Path, server: ScriptedServer, clock, new_id, log, request: pytest.FixtureRequest
) -> None:
    # With the embedder that a person has who sets none.
    with house(tmp_path, server, clock, new_id, log, EMBEDDING_MODEL="") as home:
        home.say("My cat Momo broke the blue vase.")
        home.say("She is hiding under the sofa now.")
        home.save()
        home.say("I had soup.")
        server.script(say("The blue vase."))
        entered = request.getfixturevalue("followed")
        list(home.talk.turn("What did my cat break last week in Paris, does she still hide?", CancelToken()))
        sys.setprofile(None)
    assert "conversation" in entered
    assert len(entered) <= MOST_FILES_OF_A_TURN, sorted(entered)


CLOCKS = {"time", "monotonic", "perf_counter", "process_time", "thread_time"}


def reads_clock(node: ast.AST, names: set[str]) -> bool:
    """Whether a clock of ``time`` is read in here, or one of these names stands for what was read from one."""
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == "time":
            if part.attr.removesuffix("_ns") in CLOCKS:
                return True
        elif isinstance(part, ast.Name) and part.id in names:
            return True
    return False


def clock_names(tree: ast.AST, helpers: set[str]) -> set[str]:
    """Names that stand for what was read from a clock, or came from ``helpers``, and functions that return such."""
    names = set(helpers)
    while True:
        found = set(names)
        for node in ast.walk(tree):
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value and reads_clock(node.value, names):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found |= {one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)}
            elif isinstance(node, ast.FunctionDef):
                returns = [one.value for one in ast.walk(node) if isinstance(one, ast.Return) and one.value]
                found |= {node.name} if any(reads_clock(value, names) for value in returns) else set()
        if found == names:
            return names
        names = found


def clock_asserts(source: str) -> list[int]:
    """The lines that assert something of a clock; a loop that waits for a condition may give up with one."""
    if not any(f"time.{clock}" in source for clock in CLOCKS):
        return []
    tree = ast.parse(source)
    functions = [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)]
    helpers = {one.name for one in functions if one.name in clock_names(one, set())}
    waiting = {id(one) for loop in ast.walk(tree) if isinstance(loop, ast.While) for one in ast.walk(loop)}
    return [
        node.lineno
        for function in functions
        for node in ast.walk(function)
        if isinstance(node, ast.Assert) and id(node) not in waiting
        if reads_clock(node.test, clock_names(function, helpers))
    ]


def test_no_test_measures_time() -> None:
    found = {
        str(path.relative_to(ROOT)): lines
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if (lines := clock_asserts(path.read_text(encoding="utf-8")))
    }
    assert found == {}


@pytest.mark.parametrize(
    ("body", "measures"),
    [
        ("began = time.monotonic()\n    work()\n    assert time.monotonic() - began < 10", True),
        ("began = time.perf_counter_ns()\n    took = time.perf_counter_ns() - began\n    assert took < 10", True),
        ("def seconds():\n        return time.process_time()\n    assert seconds() < 2", True),
        ("end = time.monotonic() + 60\n    while not ready():\n        assert time.monotonic() < end", False),
        ("assert longest(work) < 10", True),
        ("assert steps(work) < 10", False),
    ],
)
def test_what_measures_time_is_told_from_what_waits(body: str, measures: bool) -> None:
    helper = "def longest(work):\n    began = time.monotonic()\n    work()\n    return time.monotonic() - began\n"
    assert bool(clock_asserts(f"import time\n{helper}def test():\n    {body}\n")) is measures


#: More names than this are two subjects in one module; more parameters are a record that nobody has named.
MOST_PUBLIC_NAMES, MOST_PARAMETERS = 15, 6
#: Modules that have more, and how many: no other may, and none of these may grow.
MORE_PUBLIC_NAMES = {"domain.errors": 25}
#: What a class of ours may have as a base and be one itself.
OPEN_BASES = {"Protocol", "BaseModel", "TypedDict", "NamedTuple"}


def trees() -> Iterator[tuple[str, ast.Module]]:
    for name, path in MODULES.items():
        yield name, tree_of(path)


def test_a_module_has_few_public_names() -> None:
    public = {
        name: sum(
            isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_") for node in tree.body
        )
        for name, tree in trees()
    }
    assert {name: count for name, count in public.items() if count > MOST_PUBLIC_NAMES} == MORE_PUBLIC_NAMES


def test_a_constructor_has_few_parameters() -> None:
    found = {
        name: count
        for name, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == "__init__"
        if (count := len(node.args.args) + len(node.args.kwonlyargs) - 1) > MOST_PARAMETERS
    }
    assert found == {}


def bases_of(node: ast.ClassDef) -> list[str]:
    """The names of the bases of a class; one of a module (``logging.Formatter``) is of a library."""
    plain = [base.value if isinstance(base, ast.Subscript) else base for base in node.bases]
    return [ast.unparse(base) for base in plain]


def test_a_class_inherits_only_from_a_protocol_an_exception_or_a_frozen_record() -> None:
    classes = {node.name: node for _, tree in trees() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}

    def may_be_inherited(name: str) -> bool:
        node = classes[name]
        frozen = any("frozen=True" in ast.unparse(one) for one in node.decorator_list)
        outside = [base for base in bases_of(node) if base not in classes]
        inside = [base for base in bases_of(node) if base in classes]
        open_bases = [base for base in outside if base in OPEN_BASES or base.endswith(("Error", "Exception"))]
        return frozen or bool(open_bases) or any(may_be_inherited(base) for base in inside)

    found = {
        name: base
        for name, node in classes.items()
        for base in bases_of(node)
        if base in classes and not may_be_inherited(base)
    }
    assert found == {}


def test_a_method_does_not_only_raise_that_it_is_not_implemented() -> None:
    found = [
        f"{name}:{node.lineno}"
        for name, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise) and "NotImplementedError" in ast.dump(node)
    ]
    assert found == []
