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

-- Live for half a minute more; whoever did not do so in time lives no longer. It waits for no one.
CREATE FUNCTION registry.renew(own text) RETURNS void LANGUAGE sql
BEGIN ATOMIC
    INSERT INTO registry.program (name, until) VALUES (own, now() + interval '30 seconds')
        ON CONFLICT (name) DO UPDATE SET until = excluded.until;
END;

-- Free what processes were doing that live no longer. It gives up where somebody is writing what has to change for that.
CREATE FUNCTION registry.remove_ended() RETURNS void LANGUAGE sql SET lock_timeout = '500ms' AS $$
    DELETE FROM registry.program WHERE name IN
        (SELECT name FROM registry.program WHERE until < now() FOR UPDATE SKIP LOCKED);
$$;

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

-- When somebody is to look after a memory, and which process does, as long as it has it open: no content, and behind no
-- policy, so that one query finds who is due. Each change of a job says in its commit when the first of its person is to run.

CREATE TABLE registry.due (
    name text PRIMARY KEY,
    look double precision,
    job double precision,
    at double precision GENERATED ALWAYS AS (least(look, job)) STORED,
    program text REFERENCES registry.program ON DELETE SET NULL
);
CREATE INDEX due_next ON registry.due (at) WHERE program IS NULL;
CREATE INDEX due_of_program ON registry.due (program);

CREATE FUNCTION registry.note_due() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO registry.due AS d (name, job)
        SELECT p.name, (SELECT min(j.not_before) FROM public.job j
            WHERE j.person = p.person AND j.kind NOT IN ('summary', 'self', 'user'))
        FROM public.person p WHERE p.person = coalesce(NEW.person, OLD.person)
        ON CONFLICT (name) DO UPDATE SET job = excluded.job WHERE d.job IS DISTINCT FROM excluded.job;
    RETURN NULL;
END $$;
CREATE TRIGGER note_due AFTER INSERT OR DELETE OR UPDATE OF not_before ON public.job
    FOR EACH ROW EXECUTE FUNCTION registry.note_due();

-- From now on this process looks after a memory; where it ends, another one does from ``soon`` on.
CREATE FUNCTION registry.hold(wanted text, own text, soon double precision) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    IF NOT EXISTS (SELECT 1 FROM registry.program WHERE name = own) THEN
        PERFORM registry.renew(own);
    END IF;
    INSERT INTO registry.due AS d (name, look, program) VALUES (wanted, soon, own)
        ON CONFLICT (name) DO UPDATE SET look = excluded.look, program = excluded.program;
END $$;

CREATE TABLE registry.erased_person (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    erased_at text NOT NULL,
    messages bigint NOT NULL,
    sessions bigint NOT NULL,
    files bigint NOT NULL,
    searched bigint NOT NULL,
    traces bigint NOT NULL
);

-- What callers used: how many requests were let in so far, and the tokens of one day. When the requests of the last
-- minute came: number N in place N modulo the limit, so that what is written over is what came that many before. What is
-- under way, by process. What is lost with a crash of the server counts no longer, and no one waits for a disk.

CREATE TABLE registry.usage (
    caller text PRIMARY KEY,
    requests bigint NOT NULL DEFAULT 0,
    day text NOT NULL DEFAULT '',
    tokens bigint NOT NULL DEFAULT 0
);

CREATE UNLOGGED TABLE registry.arrival (
    caller text NOT NULL REFERENCES registry.usage ON DELETE CASCADE,
    place bigint NOT NULL,
    at timestamptz NOT NULL,
    PRIMARY KEY (caller, place)
);

CREATE UNLOGGED TABLE registry.under_way (
    who text NOT NULL,
    program text NOT NULL REFERENCES registry.program ON DELETE CASCADE,
    requests bigint NOT NULL,
    PRIMARY KEY (who, program)
);
CREATE INDEX under_way_of_program ON registry.under_way (program);

-- Seconds to wait; 0 where the request is let in.
CREATE FUNCTION registry.let_in(who text, most bigint) RETURNS double precision LANGUAGE plpgsql AS $$
DECLARE
    number bigint;
    free timestamptz;
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    INSERT INTO registry.usage AS u (caller) VALUES (who)
        ON CONFLICT (caller) DO UPDATE SET requests = u.requests RETURNING requests INTO number;
    SELECT at + interval '1 minute' INTO free FROM registry.arrival WHERE caller = who AND place = number % most;
    IF free > clock_timestamp() THEN
        RETURN extract(epoch FROM free - clock_timestamp());
    END IF;
    INSERT INTO registry.arrival (caller, place, at) VALUES (who, number % most, clock_timestamp())
        ON CONFLICT (caller, place) DO UPDATE SET at = excluded.at;
    UPDATE registry.usage SET requests = number + 1 WHERE caller = who;
    RETURN 0;
END $$;

-- This process has so many requests of somebody under way, unless all processes then had more than ``most``: one fewer.
CREATE FUNCTION registry.set_under_way(wanted text, own text, number bigint, most bigint) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    refused boolean;
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    PERFORM pg_advisory_xact_lock(hashtextextended(wanted, 0));  -- until this statement ends
    SELECT coalesce(number + coalesce(sum(u.requests), 0) > most, false) INTO refused
        FROM registry.under_way u JOIN registry.program p ON p.name = u.program
        WHERE u.who = wanted AND u.program <> own AND p.until > clock_timestamp();
    number := number - refused::integer;
    IF number <= 0 THEN
        DELETE FROM registry.under_way WHERE who = wanted AND program = own;
        RETURN NOT refused;
    END IF;
    IF NOT EXISTS (SELECT 1 FROM registry.program WHERE name = own) THEN
        PERFORM registry.renew(own);
    END IF;
    INSERT INTO registry.under_way (who, program, requests) VALUES (wanted, own, number)
        ON CONFLICT (who, program) DO UPDATE SET requests = excluded.requests;
    RETURN NOT refused;
END $$;

CREATE FUNCTION registry.spend(who text, today text, more bigint) RETURNS void LANGUAGE sql
BEGIN ATOMIC
    INSERT INTO registry.usage AS u (caller, day, tokens) VALUES (who, today, more)
        ON CONFLICT (caller) DO UPDATE SET day = excluded.day,
        tokens = CASE WHEN u.day = excluded.day THEN u.tokens ELSE 0 END + excluded.tokens;
END;

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
