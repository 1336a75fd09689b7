-- Loans of a public library, for PostgreSQL.
CREATE SCHEMA IF NOT EXISTS library;

CREATE TYPE library.copy_state AS ENUM ('shelved', 'lent', 'lost');

-- A title; copies of it are lent.
CREATE TABLE library.titles (
    id bigserial PRIMARY KEY,
    isbn text UNIQUE,
    type text NOT NULL DEFAULT 'book',
    view_count integer NOT NULL DEFAULT 0
);

CREATE TABLE IF NOT EXISTS library.copies (
    id bigserial PRIMARY KEY,
    title_id bigint NOT NULL REFERENCES library.titles (id),
    state library.copy_state NOT NULL DEFAULT 'shelved'
);

CREATE UNIQUE INDEX copies_by_title ON library.copies (title_id, id);

CREATE OR REPLACE VIEW library.available AS
SELECT t.id, t.isbn, count(*) AS copies
FROM library.titles t
JOIN library.copies c ON c.title_id = t.id
WHERE c.state = 'shelved'
GROUP BY t.id;

/* Lends a copy; fails if it is not on its shelf. */
CREATE OR REPLACE FUNCTION library.lend(copy bigint, reader text)
RETURNS timestamptz AS $$
DECLARE
    due timestamptz := now() + interval '28 days';
BEGIN
    UPDATE library.copies SET state = 'lent' WHERE id = copy AND state = 'shelved';
    IF NOT FOUND THEN
        RAISE EXCEPTION 'copy % is not on its shelf; "%" cannot have it', copy, reader;
    END IF;
    RETURN due;
END;
$$ LANGUAGE plpgsql;

CREATE TRIGGER titles_seen
AFTER UPDATE ON library.titles
FOR EACH ROW EXECUTE FUNCTION library.count_view();

CREATE PROCEDURE library.shelve(copy bigint)
BEGIN ATOMIC
    UPDATE library.copies SET state = 'shelved' WHERE id = copy;
    DELETE FROM library.loans WHERE copy_id = copy;
END;

INSERT INTO library.titles (isbn) VALUES ('978-3-16-148410-0');
create materialized view library.popular as
select id from library.titles where view_count > 100;
