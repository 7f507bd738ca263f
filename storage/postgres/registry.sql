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

-- Live for half a minute more; whoever did not do so in time lives no longer.
CREATE FUNCTION registry.renew(own text) RETURNS void LANGUAGE sql
BEGIN ATOMIC
    DELETE FROM registry.program WHERE until < now() AND name <> own;
    INSERT INTO registry.program (name, until) VALUES (own, now() + interval '30 seconds')
        ON CONFLICT (name) DO UPDATE SET until = excluded.until;
END;

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

CREATE FUNCTION registry.begin_request(wanted text, own text, most bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    PERFORM pg_advisory_xact_lock(hashtextextended(wanted, 0));  -- until this statement ends
    IF (SELECT coalesce(sum(u.requests), 0) FROM registry.under_way u JOIN registry.program p ON p.name = u.program
        WHERE u.who = wanted AND p.until > clock_timestamp()) >= most THEN
        RETURN false;
    END IF;
    IF NOT EXISTS (SELECT 1 FROM registry.program WHERE name = own) THEN
        PERFORM registry.renew(own);
    END IF;
    INSERT INTO registry.under_way AS u (who, program, requests) VALUES (wanted, own, 1)
        ON CONFLICT (who, program) DO UPDATE SET requests = u.requests + 1;
    RETURN true;
END $$;

CREATE FUNCTION registry.end_request(ended text, own text) RETURNS void LANGUAGE sql
BEGIN ATOMIC
    UPDATE registry.under_way SET requests = requests - 1 WHERE who = ended AND program = own;
    DELETE FROM registry.under_way WHERE who = ended AND program = own AND requests <= 0;
END;

CREATE FUNCTION registry.spend(who text, today text, more bigint) RETURNS void LANGUAGE sql
BEGIN ATOMIC
    INSERT INTO registry.usage AS u (caller, day, tokens) VALUES (who, today, more)
        ON CONFLICT (caller) DO UPDATE SET day = excluded.day,
        tokens = CASE WHEN u.day = excluded.day THEN u.tokens ELSE 0 END + excluded.tokens;
END;
