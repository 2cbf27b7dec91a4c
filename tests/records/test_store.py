"""Problems of a store are one sentence; removed runs are deleted completely."""

from __future__ import annotations

import http.server
import shutil
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest
from run_folders import make_run

from attnlab.errors import RequestError
from attnlab.records.mlflow import internals, store_check
from attnlab.records.mlflow.folder_copy import sync_run
from attnlab.records.mlflow.settings import sqlite_path, store_uri
from attnlab.records.mlflow.store import Store
from attnlab.records.mlflow.store_check import check_store
from attnlab.records.run_directory import RunDirectory

pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow's own, when it is used here


@pytest.fixture(scope="module")
def example(tmp_path_factory, empty_store):
    """A runs folder with two runs and their copies in MLflow, models and all."""
    runs = tmp_path_factory.mktemp("example")
    shutil.copy(empty_store, runs / "mlflow.db")
    store = Store(store_uri(runs), runs / "artifacts")
    for seed in (0, 1):
        tracked = {"enabled": True, "uri": None, "weights": "best"}
        sync_run(make_run(runs, seed=seed, config={"tracking": tracked}), store)
    return runs


@pytest.mark.parametrize("name", ["a?b", "a%20b", "a#b", "a b", "ä"])
def test_a_store_is_in_its_runs_folder_with_any_name(tmp_path, name):
    from sqlalchemy.engine import make_url

    uri = store_uri(tmp_path / name)
    assert make_url(uri).database == str(tmp_path / name / "mlflow.db")
    assert sqlite_path(uri) == tmp_path / name / "mlflow.db"


@pytest.fixture
def runs(example, tmp_path):
    """A copy of the runs folder, whose store has the place of the original."""
    return Path(shutil.copytree(example, tmp_path / "runs"))


def the_runs(runs):
    return sorted((RunDirectory(path) for path in runs.glob("fib/none/*")), key=lambda r: r.path)


def run_ids(runs):
    return [run.status.read()["mlflow_run_id"] for run in the_runs(runs)]


def change_schema(runs, version):
    with closing(sqlite3.connect(runs / "mlflow.db")) as database:
        database.execute("UPDATE alembic_version SET version_num = ?", [version])
        database.commit()


def complaint(uri, **options):
    with pytest.raises(RequestError) as raised:
        check_store(uri, **options)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_a_store_in_order_a_new_one_and_an_empty_file_are_fine(runs, tmp_path):
    check_store(store_uri(runs))
    check_store(store_uri(tmp_path / "nowhere"))
    assert not (tmp_path / "nowhere").exists()
    (tmp_path / "mlflow.db").touch()
    check_store(store_uri(tmp_path))


def test_a_locked_database_is_named(runs, monkeypatch):
    monkeypatch.setattr(store_check, "PATIENCE_SECONDS", 0.1)
    with closing(sqlite3.connect(runs / "mlflow.db", isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        assert "mlflow.db is locked by another process" in complaint(store_uri(runs))
        check_store(store_uri(runs), writing=False)
        holder.execute("COMMIT")
        holder.execute("BEGIN EXCLUSIVE")
        assert "is locked by another process" in complaint(store_uri(runs), writing=False)
    check_store(store_uri(runs))


def test_an_older_schema_is_upgraded_by_the_command_that_is_named(runs):
    change_schema(runs, "bd07f7e963c5")
    said = complaint(store_uri(runs))
    assert "schema of an older MLflow" in said
    assert said.endswith(f"mlflow db upgrade sqlite:///{runs}/mlflow.db")


def test_a_newer_schema_needs_a_newer_mlflow(runs):
    change_schema(runs, "ffffffffffff")
    assert "schema of a newer MLflow" in complaint(store_uri(runs))


@pytest.mark.parametrize("before", ['"bd07f7e963c5"', "('0000', 'bd07f7e963c5')"])
def test_annotated_migrations_are_understood(runs, tmp_path, monkeypatch, before):
    (tmp_path / "one.py").write_text('revision: str = "bd07f7e963c5"\ndown_revision: None = None\n')
    monkeypatch.setattr(store_check, "migrations", lambda: [*tmp_path.glob("*.py")])
    change_schema(runs, "bd07f7e963c5")
    check_store(store_uri(runs))
    text = f"revision: str = 'ffff'\ndown_revision: str | tuple[str, ...] | None = {before}\n"
    (tmp_path / "two.py").write_text(text)
    assert "schema of an older MLflow" in complaint(store_uri(runs))
    change_schema(runs, "ffff")
    check_store(store_uri(runs))


def test_files_that_are_not_stores_are_named(runs):
    path, uri = runs / "mlflow.db", store_uri(runs)
    path.write_bytes(path.read_bytes()[:5000])
    assert f"{path} is damaged: move it away" in complaint(uri)
    path.write_text("no database at all" * 100)
    assert f"{path} is not an SQLite database: move it away" in complaint(uri)
    path.unlink()
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE birds (name)")
    assert f"{path} is a database, but not one of MLflow" in complaint(uri)
    path.unlink()
    path.mkdir()
    assert f"{path} is a folder" in complaint(uri)


def test_a_server_that_is_down_is_reported_without_its_password():
    said = complaint("http://me:secret@127.0.0.1:9")
    assert said.startswith("MLflow: the server http://127.0.0.1:9 does not answer")
    assert "secret" not in said


def test_a_server_that_answers_with_an_error_is_up():
    asked = []

    class Refusing(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_error(401)

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        check_store(f"http://127.0.0.1:{server.server_port}")
    assert len(asked) == 1


def test_errors_of_mlflow_are_one_sentence():
    with pytest.raises(RequestError, match=r"^MLflow: nonsense://x: "):
        Store("nonsense://x")


def test_a_run_is_found_by_its_id_or_by_its_folder(example):
    store, (first, second) = Store(store_uri(example)), the_runs(example)
    ids = run_ids(example)
    assert store.find(first.path, ids[0], None).info.run_id == ids[0]
    assert store.find(second.path, None, "fib").info.run_id == ids[1]
    assert store.find(second.path, "gone", "fib").info.run_id == ids[1]
    assert store.find(second.path, "gone", None) is None
    assert store.find(second.path, None, "sunspots") is None


def test_a_copy_of_a_folder_is_not_the_run_of_the_original(example):
    (first, _), (run_id, _) = the_runs(example), run_ids(example)
    copy = Path(shutil.copytree(first.path, first.path.with_name("copy")))
    try:
        assert Store(store_uri(example)).find(copy, run_id, "fib") is None
    finally:
        shutil.rmtree(copy)


def rows_of(runs, run_id):
    """The number of rows, in all tables, that name the run."""
    count = 0
    with closing(sqlite3.connect(runs / "mlflow.db")) as database:
        tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
            for column in {"run_uuid", "run_id", "source_run_id"} & set(columns):
                query = f"SELECT COUNT(*) FROM {table} WHERE {column} = ?"
                count += database.execute(query, [run_id]).fetchone()[0]
    return count


def artifacts(runs):
    return {path.name for path in (runs / "artifacts" / "fib").glob("*")}, {
        path.name for path in (runs / "artifacts" / "fib" / "models").glob("*")
    }


def test_a_removed_run_is_deleted_completely_and_others_are_not(runs, example):
    first, second = run_ids(runs)
    before = artifacts(runs)
    kept = rows_of(runs, second)
    assert rows_of(runs, first) > 5
    assert len(before[1]) == 2
    store = Store(store_uri(runs))
    assert store.remove(first) is True
    assert (rows_of(runs, first), rows_of(runs, second)) == (0, kept)
    assert artifacts(runs)[0] == before[0] - {first}
    assert len(artifacts(runs)[1]) == 1
    assert store.remove(first) is True
    assert artifacts(example) == before, "the original of a copied store has lost artifacts"


def test_a_server_deletes_the_run_but_not_its_artifacts(runs, monkeypatch):
    monkeypatch.setattr(internals, "database", lambda client: None)
    store, (first, _) = Store(store_uri(runs)), run_ids(runs)
    before = artifacts(runs)
    assert store.remove(first) is False
    run = store.client.get_run(first)
    assert run.info.lifecycle_stage == "deleted"
    assert len(store.client.search_logged_models([run.info.experiment_id])) == 1
    assert artifacts(runs) == before
