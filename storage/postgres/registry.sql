-- Who is served, beside the memories: the tables of `storage/sqlite/registry.sql`, for all processes that serve them.

CREATE SCHEMA registry;

CREATE TABLE registry.person (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    person text NOT NULL UNIQUE,
    created_at text NOT NULL
);

-- The processes that use the memories, each until when.
CREATE TABLE registry.program (
    name text PRIMARY KEY,
    until timestamptz NOT NULL
);

CREATE TABLE registry.token (
    digest text PRIMARY KEY,
    name text NOT NULL UNIQUE,
    person text NOT NULL,
    created_at text NOT NULL,
    revoked_at text
);

-- 1 is everybody's own companion, which needs no row.
CREATE TABLE registry.instruction (
    id bigint GENERATED ALWAYS AS IDENTITY (START WITH 2) PRIMARY KEY,
    person text NOT NULL,
    title text NOT NULL,
    text text NOT NULL,
    created_at text NOT NULL,
    updated_at text NOT NULL
);

CREATE TABLE registry.owed (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    person text NOT NULL,
    instruction bigint NOT NULL,
    UNIQUE (person, instruction)
);

CREATE TABLE registry.listened (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    person text NOT NULL UNIQUE
);

CREATE TABLE registry.erased_person (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    erased_at text NOT NULL,
    messages bigint NOT NULL,
    sessions bigint NOT NULL,
    files bigint NOT NULL,
    searched bigint NOT NULL,
    traces bigint NOT NULL
);

-- No sample of a text is kept in the statistics, where it would outlive the text; only of ids, kinds and moments.

DO $$
DECLARE place record;
BEGIN
    FOR place IN SELECT a.attrelid::regclass AS of, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relkind = 'r' AND c.relnamespace IN (current_schema()::regnamespace, 'registry'::regnamespace)
        AND a.attnum > 0 AND a.atttypid::regtype::text IN ('text', 'text[]', 'bytea', 'halfvec')
        AND a.attname NOT IN ('text_id', 'session_id', 'window_id', 'kind', 'model', 'role', 'status',
            'shelf', 'chain', 'digest', 'timestamp', 'stored_at') LOOP
        EXECUTE format('ALTER TABLE %s ALTER %I SET STATISTICS 0', place.of, place.attname);
    END LOOP;
END $$;
