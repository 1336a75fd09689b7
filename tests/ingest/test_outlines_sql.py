"""Where statements of SQL end, in its dialects."""

from __future__ import annotations

import pytest

from crx.ingest.readers import code
from crx.types import Document

SQL_BLOCKS = {
    "SQL Server": """CREATE PROCEDURE p AS
BEGIN
  SELECT CASE WHEN a THEN 1
    ELSE 2
  END;
  IF x = 1 BEGIN UPDATE t SET a = 'begin';
  END
  BEGIN TRAN; COMMIT;
END;
CREATE TABLE boil (a int);
""",
    "MySQL": """CREATE TABLE `a` (b text DEFAULT 'it\\'s; fine', c text DEFAULT 'C:\\\\');
CREATE TABLE `z` (b int);
DELIMITER //
CREATE TRIGGER t BEFORE INSERT ON a FOR EACH ROW BEGIN
  IF NEW.b THEN SET NEW.b = 1; END IF;
  CASE NEW.c WHEN 1 THEN SET @x = 1; END CASE;
END//
DELIMITER ;
CREATE VIEW boil AS SELECT 1;
""",
    "Oracle": """CREATE OR REPLACE PACKAGE BODY pack AS
  total NUMBER;
  PROCEDURE one IS
    n NUMBER := 1;
  BEGIN
    SELECT a AS b INTO n FROM t WHERE a IS NOT NULL;
    LOOP EXIT; END LOOP;
  END one;
  FUNCTION zero RETURN NUMBER IS
  BEGIN RETURN 0; END;
END pack;
/
CREATE FUNCTION two RETURN NUMBER IS
  n NUMBER;
BEGIN
  RETURN n;
END;
/
CREATE TABLE boil (a int);
""",
    "PostgreSQL": """CREATE TABLE a (b text DEFAULT E'it\\'s; ok', c text DEFAULT 'C:\\');
CREATE FUNCTION g() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT 1; SELECT 2; END;
CREATE TABLE boil (a int);
""",
}
SQL_LABELS = {
    "SQL Server": {"procedure p": "END;", "table boil": "(a int);"},
    "MySQL": {
        "table a": "'C:\\\\');",
        "table z": "(b int);",
        "trigger t": "END//",
        "view boil": "SELECT 1;",
    },
    "Oracle": {"package pack": "END pack;", "function two": "END;", "table boil": "(a int);"},
    "PostgreSQL": {"table a": "'C:\\');", "function g": "END;", "table boil": "(a int);"},
}


def read(name: str, text: str) -> Document:
    (document,) = code.read(text.encode(), name=name)
    return document


@pytest.mark.parametrize("dialect", SQL_BLOCKS)
def test_a_statement_of_sql_ends_behind_its_outermost_block(dialect: str) -> None:
    document = read("a.sql", SQL_BLOCKS[dialect])
    labels = SQL_LABELS[dialect]
    spans = {mark.label: document.text[mark.start : mark.end] for mark in document.marks}
    assert list(spans) == list(labels)
    for label, ends in labels.items():
        assert spans[label].rstrip().endswith(ends), (label, spans[label])


@pytest.mark.parametrize(
    ("statement", "label"),
    [
        ("CREATE TABLE a (begin date NOT NULL, fin date);", "table a"),
        ("CREATE TABLE a (\n  begin date,\n  end date\n);", "table a"),
        ("CREATE VIEW a AS SELECT x.begin FROM t;", "view a"),
        ("CREATE VIEW a AS SELECT begin, fin FROM t;", "view a"),
        ("CREATE TYPE a AS (begin date, fin date);", "type a"),
        ("CREATE FUNCTION a(begin date) RETURNS int LANGUAGE sql RETURN 1;", "function a"),
        ("CREATE FUNCTION a RETURN INT IS BEGIN SELECT t.begin INTO x FROM t; END;", "function a"),
        ("CREATE FUNCTION a RETURN INT IS BEGIN SELECT b AS end FROM t; x; END;", "function a"),
        ("CREATE PROCEDURE a AS BEGIN DECLARE @end int; SELECT 1; END;", "procedure a"),
        (
            "CREATE PROCEDURE a AS BEGIN\nIF x BEGIN SELECT 1 END\nIF y SELECT 2;\nEND;",
            "procedure a",
        ),
        (
            "CREATE PROCEDURE a AS BEGIN\nIF x BEGIN SET @a=1 END\nWHILE y SELECT 2;\nEND;",
            "procedure a",
        ),
        ("CREATE PROCEDURE a AS BEGIN BEGIN DISTRIBUTED TRAN; COMMIT; END;", "procedure a"),
        ("CREATE PROCEDURE a AS BEGIN BEGIN TRANSACTION t; COMMIT; END;", "procedure a"),
        ("CREATE PROCEDURE a AS BEGIN BEGIN DIALOG @h FROM SERVICE s; END;", "procedure a"),
        (
            "CREATE PROCEDURE a AS BEGIN BEGIN CONVERSATION TIMER (@h) TIMEOUT = 1; END;",
            "procedure a",
        ),
        (
            "CREATE TRIGGER a BEFORE INSERT ON x FOR EACH ROW\nDECLARE\n v int;\n"
            "BEGIN\n v := 1;\nEND;",
            "trigger a",
        ),
        ("CREATE TRIGGER a ON x AFTER INSERT AS DECLARE @v int;", "trigger a"),
        (
            "CREATE TYPE BODY a AS\n MEMBER FUNCTION f RETURN INT IS\n BEGIN RETURN 1; END;\n"
            " MEMBER FUNCTION g RETURN INT IS\n BEGIN RETURN 2; END;\nEND;",
            "type a",
        ),
        ("CREATE TYPE body AS OBJECT (a int);", "type body"),
    ],
)
def test_a_statement_of_sql_is_followed_by_the_next(statement: str, label: str) -> None:
    text = f"{statement}\nCREATE TABLE b (x int);\nCREATE FUNCTION c() AS BEGIN RETURN 1; END;\n"
    document = read("a.sql", text)
    spans = {mark.label: document.text[mark.start : mark.end] for mark in document.marks}
    assert spans == {
        label: statement,
        "table b": "CREATE TABLE b (x int);",
        "function c": "CREATE FUNCTION c() AS BEGIN RETURN 1; END;",
    }


@pytest.mark.parametrize("sign", ["//", "$$", ";;", "|"])
def test_a_statement_of_mysql_ends_at_its_delimiter(sign: str) -> None:
    text = (
        f"DELIMITER {sign}\nCREATE PROCEDURE a()\nBEGIN\n  SELECT 1;\nEND{sign}\n\n"
        f"CREATE PROCEDURE b()\nBEGIN\n  SELECT '{sign}';\nEND {sign}\n"
        f"CREATE PROCEDURE c() SELECT 3{sign}\nDELIMITER ;\n"
        "CREATE TABLE d (x int);\nCREATE TABLE e (x int);\n"
    )
    document = read("a.sql", text)
    spans = {mark.label: document.text[mark.start : mark.end] for mark in document.marks}
    assert list(spans) == ["procedure a", "procedure b", "procedure c", "table d", "table e"]
    ends = [f" 1;\nEND{sign}", f"{sign}';\nEND {sign}", f"SELECT 3{sign}", "(x int);", "(x int);"]
    for span, end in zip(spans.values(), ends, strict=True):
        assert span.startswith("CREATE")
        assert span.endswith(end)


def test_a_delimiter_of_columns_is_no_delimiter_of_statements() -> None:
    text = (
        "COPY a FROM 'b'\nDELIMITER ','\nCSV;\nCREATE FUNCTION f() AS $$ BEGIN; END $$;\n"
        "CREATE TABLE c (d text DEFAULT 'C:\\');\nCREATE TABLE e (x int);\n"
    )
    labels = [mark.label for mark in read("a.sql", text).marks]
    assert labels == ["function f", "table c", "table e"]
