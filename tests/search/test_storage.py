import importlib.util
import json
import logging
import multiprocessing
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from autogm.errors import AutoGMError, InputError, MissingExtra
from autogm.search import Boolean, Categorical, InMemory, Integer, Space, State, search, workers
from autogm.search import storage as storage_module
from autogm.search.trial import Trial
from tests.search.worker_search import SPACE, begun, hold, opened, score_of, seconds_of, work

optuna = pytest.importorskip("optuna")
posix = pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")

STORED = ("sqlite", "journal", "postgresql")
POINTS = list(SPACE)
SECRET = "a:secret/{word}"
_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK | os.X_OK) else None


# ---- where studies are


_INITDB = "-D data -U autogm -A scram-sha-256 --pwfile=password --encoding=UTF8 --no-sync"
_POSTGRES = "-D data -F -h 127.0.0.1 --unix_socket_directories="


def _binaries():
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    folders += map(Path, os.environ.get("PATH", "").split(os.pathsep))
    wheel = importlib.util.find_spec("pgserver")
    if wheel is not None:  # for its files: it would add a user to the system to run them
        folders.insert(0, Path(wheel.origin).parent / "pginstall" / "bin")
    return next((f for f in folders if (f / "initdb").exists() and (f / "postgres").exists()), None)


def _unprivileged(folder):
    """PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    import pwd

    nobody = pwd.getpwnam("nobody")
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


@pytest.fixture(scope="session")
def server():
    """The port of a PostgreSQL server of our own."""
    psycopg = pytest.importorskip("psycopg", reason="no driver: pip install 'psycopg[binary]'")
    binaries = _binaries()
    if binaries is None:
        pytest.skip("no PostgreSQL: put initdb and postgres on the PATH, or pip install pgserver")
    with tempfile.TemporaryDirectory(dir=_MEMORY, prefix="autogm-") as name:
        folder = Path(name)
        (folder / "password").write_text(SECRET)
        (folder / "password").chmod(0o644)
        options = {"cwd": folder, "env": {"LC_ALL": "C", "PATH": os.environ["PATH"]}}
        options |= _unprivileged(folder)
        if "user" in options and "pgserver" in str(binaries):
            # The environment may lie where only root can go.
            site = binaries.parents[2]
            for part in ("pgserver/pginstall", "pgserver.libs"):
                shutil.copytree(site / part, folder / part, symlinks=True)
            binaries = folder / "pgserver" / "pginstall" / "bin"
        made = subprocess.run(
            [binaries / "initdb", *_INITDB.split()],
            capture_output=True,
            text=True,
            **options,
        )
        if made.returncode:
            pytest.skip(f"initdb does not work here: {made.stderr.strip()}")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        with (folder / "log").open("wb") as log:
            running = subprocess.Popen(
                [binaries / "postgres", *_POSTGRES.split(), f"--port={port}"],
                stdout=log,
                stderr=log,
                **options,
            )
        for _ in range(100):
            try:
                psycopg.connect(**_login(port), connect_timeout=5).close()
                break
            except psycopg.OperationalError:
                if running.poll() is not None:
                    pytest.skip(f"postgres does not run here: {(folder / 'log').read_text()}")
                time.sleep(0.1)
        yield port
        running.send_signal(signal.SIGQUIT)
        running.wait(20)


def _login(port):
    return {
        "host": "127.0.0.1",
        "port": port,
        "user": "autogm",
        "password": SECRET,
        "dbname": "postgres",
    }


@pytest.fixture
def folder():
    """In memory where that can be: nothing here is about disks, and they are slow."""
    with tempfile.TemporaryDirectory(dir=_MEMORY, prefix="autogm-") as name:
        yield Path(name)


def _address(kind, folder, request):
    """An empty storage."""
    if kind == "sqlite":
        return f"sqlite:///{folder / 'study.db'}"
    if kind == "journal":
        return str(folder / "study.journal")
    port = request.getfixturevalue("server")
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(**_login(port), autocommit=True) as connection:
        connection.execute("set lock_timeout = '10s'")
        [made] = connection.execute("select to_regclass('studies')").fetchone()
        if made is not None and "processes" not in request.fixturenames:
            connection.execute("truncate studies cascade")
        else:  # processes have to make the tables as well
            connection.execute("drop schema public cascade; create schema public")
    return f"postgresql://autogm:{SECRET.replace('/', '%2F')}@127.0.0.1:{port}/postgres"


@pytest.fixture(params=STORED)
def url(request, folder):
    return _address(request.param, folder, request)


@pytest.fixture
def reopen(url):
    """Another worker of the same study, each time."""
    studies = []

    def one(**changes):
        studies.append(opened(url, **changes))
        return studies[-1]

    yield one
    for study in studies:
        study.close()


@pytest.fixture(params=("memory", *STORED))
def study(request, folder):
    if request.param == "memory":
        yield InMemory()
        return
    with opened(_address(request.param, folder, request)) as study:
        yield study


# ---- what every study does


def test_a_trial_is_begun(study):
    assert study.begin(POINTS[3]) == Trial(number=0, point=POINTS[3])
    assert study.trials() == [Trial(number=0, point=POINTS[3])]


def test_trials_are_in_the_order_they_were_begun(study):
    order = random.Random(0).sample(POINTS, 6)
    for point in order:
        study.begin(point)
    assert [trial.number for trial in study.trials()] == list(range(6))
    assert [trial.point for trial in study.trials()] == order


def test_a_time_is_noted(study):
    noted = study.note(study.begin(POINTS[0]), 0.1 + 0.2)
    assert noted == Trial(number=0, point=POINTS[0], seconds=0.1 + 0.2)
    assert study.trials() == [noted]


def test_what_was_put_waits_and_is_taken_with_its_time(study):
    trial = study.note(study.begin(POINTS[0]), 0.25)
    put = study.put(trial)
    assert put.state is State.waiting
    assert study.trials() == [put]
    assert study.take() == trial
    assert study.trials() == [trial]


def test_the_first_that_waits_is_taken_first(study):
    for point in POINTS[:3]:
        study.put(study.note(study.begin(point), 1.0))
    assert [study.take().number for _ in range(3)] == [0, 1, 2]


def test_nothing_is_taken_where_nothing_waits(study):
    trial = study.begin(POINTS[0])
    assert study.take() is None
    study.end(trial, State.failed, reason="no")
    assert study.take() is None


@pytest.mark.parametrize(
    ("state", "fields"),
    [
        (State.trained, {"accuracy": 0.7, "error": 0.1 / 3, "runs": 10, "cost": 1e-3}),
        (State.trained, {"accuracy": 0.0}),
        (State.trained, {"accuracy": 0.7, "seconds": None}),
        (State.trained, {"accuracy": -3.5, "reason": "seed 3 diverged"}),
        (State.too_slow, {}),
        (State.failed, {"reason": "ValueError: schön 🐢\n\tno"}),
        (State.failed, {}),
    ],
    ids=str,
)
def test_an_end_is_kept(study, state, fields):
    trial = study.note(study.begin(POINTS[5]), 2 / 3)
    ended = study.end(trial, state, **fields)
    expected = {"seconds": 2 / 3, **fields}
    assert ended == Trial(number=0, point=POINTS[5], state=state, **expected)
    assert study.trials() == [ended]


@pytest.mark.parametrize("seed", range(2))
def test_studies_do_the_same(study, seed):
    """As the list in memory does, whatever is asked of them."""
    rng, plain, ours = random.Random(seed), InMemory(), {}
    points = iter(rng.sample(POINTS, len(POINTS)))
    for _ in range(25):
        step = rng.choice(["begin", "begin", "note", "put", "take", "end"])
        number = rng.choice(sorted(ours)) if ours else None
        if step == "begin":
            point = next(points, None)
            calls = [lambda s, p=point: s.begin(p)] if point else []
        elif step == "take":
            calls = [lambda s: s.take()]
        elif number is None:
            continue
        else:
            trial, value = ours.pop(number), rng.random()
            calls = {
                "note": [lambda s, t=trial, v=value: s.note(t, v)],
                "put": [lambda s, t=trial: s.put(t)],
                "end": [lambda s, t=trial, v=value: s.end(t, State.trained, accuracy=v)],
            }[step]
        for call in calls:
            expected = call(plain)
            assert call(study) == expected
            if expected is not None and expected.state is State.running:
                ours[expected.number] = expected
        assert study.trials() == plain.trials()


# ---- what a storage adds


def test_a_point_is_begun_once(reopen):
    mine, others = reopen(), reopen()
    trial = mine.begin(POINTS[0])
    assert mine.begin(POINTS[0]) is None
    assert others.begin(POINTS[0]) is None
    mine.end(trial, State.failed, reason="no")
    assert others.begin(POINTS[0]) is None
    assert others.begin(POINTS[1]).number == 1


def test_what_was_too_slow_may_be_begun_again(reopen):
    mine, others = reopen(), reopen()
    slow = mine.end(mine.begin(POINTS[0]), State.too_slow, seconds=9.0)
    again = others.begin(POINTS[0])
    assert again.number == 1
    assert mine.begin(POINTS[0]) is None
    assert mine.trials() == [slow, again]


def test_another_process_finds_everything_as_it_was(reopen):
    mine = reopen()
    mine.end(mine.begin(POINTS[0]), State.trained, seconds=0.1, **score_of(POINTS[0]))
    mine.end(mine.begin(POINTS[1]), State.too_slow, seconds=1 / 3)
    mine.end(mine.begin(POINTS[2]), State.failed, reason="KeyError: 'x'")
    mine.put(mine.note(mine.begin(POINTS[3]), 0.7))
    mine.note(mine.begin(POINTS[4]), 0.9)
    assert reopen().trials() == mine.trials()
    states = ["trained", "too slow", "failed", "waiting", "running"]
    assert [trial.state.value for trial in mine.trials()] == states


def test_values_keep_their_kinds(url):
    space = Space(
        w=Integer(1, 3, last=-1),
        log=Integer(2, 9, log=True),
        l=Boolean(),
        x=Categorical(0, 0.5, "1", 7),
    )
    points = [
        {"w": -1, "log": 9, "l": True, "x": "1"},
        {"w": 1, "log": 2, "l": False, "x": 0},
        {"w": 3, "log": 5, "l": True, "x": 0.5},
    ]
    with opened(url, space=space) as study:
        for point in points:
            study.begin(point)
    with opened(url, space=space) as study:
        found = [trial.point for trial in study.trials()]
    assert found == points
    assert [list(map(type, p.values())) for p in found] == [
        list(map(type, p.values())) for p in points
    ]


def test_numbers_of_other_libraries(reopen):
    np = pytest.importorskip("numpy")
    study = reopen()
    trial = study.note(study.begin({**POINTS[0], "d": np.int64(2)}), np.float32(0.5))
    ended = study.end(trial, State.trained, accuracy=np.float64(0.75), runs=np.int64(3))
    assert reopen().trials() == [ended]
    assert type(ended.runs) is int


def test_a_point_must_be_of_the_space(reopen):
    with pytest.raises(InputError, match="d must be one of 1, 2, 3, but got 4"):
        reopen().begin({"d": 4, "l": True, "a": "SS"})


@pytest.mark.parametrize("state", [State.waiting, State.running])
def test_an_end_is_an_end(reopen, state):
    study = reopen()
    with pytest.raises(InputError, match=f"trained, too slow or failed, but got '{state.value}'"):
        study.end(study.begin(POINTS[0]), state)


def test_optuna_shows_the_study(reopen, url):
    study = reopen()
    for seconds, accuracy in ((0.1, 0.5), (0.2, 0.8), (0.3, 0.7)):
        trial = study.note(begun(study), seconds)
        study.end(trial, State.trained, accuracy=accuracy)
    study.end(study.begin(POINTS[5]), State.too_slow, seconds=7.0)
    study.end(study.begin(POINTS[6]), State.failed, reason="no")
    study.put(study.note(study.begin(POINTS[7]), 1.0))
    study.begin(POINTS[8])
    shown = study._storage.get_all_trials(study._study)
    states = ["COMPLETE"] * 3 + ["FAIL"] * 2 + ["WAITING", "RUNNING"]
    assert [trial.state.name for trial in shown] == states
    assert [trial.params for trial in shown] == [trial.point for trial in study.trials()]
    assert shown[0].distributions["d"] == optuna.distributions.IntDistribution(1, 3)
    assert shown[1].values == [0.8, 0.2]
    assert shown[3].user_attrs["seconds"] == 7.0
    assert shown[3].user_attrs["state"] == "too slow"
    assert shown[4].user_attrs["reason"] == "no"
    optunas = optuna.load_study(study_name="cora", storage=study._storage)
    assert [trial.number for trial in optunas.best_trials] == [0, 1]
    assert optunas.metric_names == ["accuracy", "seconds"]


def test_a_search_goes_on_where_it_ended(url):
    oracles = {"seconds": seconds_of, "accuracy": score_of, "strategy": "random"}
    expected = search(SPACE, trials=8, **oracles).trials
    with opened(url) as study:
        search(SPACE, trials=3, study=study, **oracles)
    with opened(url) as study:
        assert search(SPACE, trials=8, study=study, **oracles).trials == expected


def test_other_tools_trials_are_not_ours(reopen):
    study = reopen()
    optunas = optuna.load_study(study_name="cora", storage=study._storage)
    optunas.enqueue_trial({"lr": 0.1})
    assert study.trials() == []
    assert study.take() is None
    assert study.begin(POINTS[0]).number == 1


def test_axes_of_the_same_values_may_mean_something_else(url):
    with opened(url, space=Space(d=Integer(1, 3))) as study:
        study.begin({"d": 1})
    with opened(url, space=Space(d=Integer(1, 3, log=True))) as study:
        study.begin({"d": 2})
    with opened(url, space=Space(d=Categorical(1, 2, 3))) as study:
        study.begin({"d": 3})
        assert [trial.point["d"] for trial in study.trials()] == [1, 2, 3]


def test_one_storage_holds_many_studies(url):
    with opened(url) as one, opened(url, "citeseer") as other:
        one.begin(POINTS[0])
        assert other.begin(POINTS[0]).number == 0
        assert len(one.trials()) == len(other.trials()) == 1


def test_it_is_silent(url, capfd, caplog):
    caplog.set_level(logging.INFO, "optuna")
    level = logging.getLogger("optuna.storages").level
    with opened(url) as study:
        study.end(study.begin(POINTS[0]), State.trained, accuracy=0.5, seconds=1.0)
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []
    assert logging.getLogger("optuna.storages").level == level


def test_closing_stops_the_beat(url):
    with opened(url) as study:
        study.begin(POINTS[0])
        assert "beat" in [thread.name for thread in threading.enumerate()]
    assert "beat" not in [thread.name for thread in threading.enumerate()]


def test_two_hundred_trials_are_read_at_once(url):
    space = Space(d=Integer(1, 200), w=Integer(1, 50, last=-1), l=Boolean())
    result = {"accuracy": 0.5, "error": 0.1, "runs": 3, "cost": 1.5, "state": "trained"}
    with opened(url, space=space) as study:
        for d in range(1, 201):
            study._storage.create_new_trial(
                study._study,
                optuna.trial.create_trial(
                    params={"d": d, "w": -1, "l": True},
                    distributions=study._distributions,
                    values=[0.5, d / 7],
                    user_attrs={"seconds": d / 7, "worker": study._worker, "beat": 9, **result},
                ),
            )
    with opened(url, space=space) as study:
        start = time.perf_counter()
        assert len(study.trials()) == 200
        first = time.perf_counter() - start
        again = min(_timed(study.trials) for _ in range(3))
    assert first < 0.5  # much less on a machine of its own
    assert again < 0.1


def _timed(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


# ---- what is refused


def test_another_space_is_refused(reopen):
    reopen()
    other = Space(d=Integer(1, 4))
    with pytest.raises(InputError, match="is of another space") as error:
        reopen(space=other)
    assert SPACE.fingerprint in str(error.value)
    assert other.fingerprint in str(error.value)


def test_another_subject_is_refused(reopen):
    reopen(subject="f00d")
    with pytest.raises(InputError, match="of another subject: it has f00d, but asked for is beef"):
        reopen(subject="beef")


def test_going_on_must_be_meant(reopen):
    reopen(resume=False)
    with pytest.raises(
        InputError, match=r"the study 'cora' is in .* already; go on with it \(resume=True"
    ):
        reopen(resume=False)


def test_another_schema_is_refused(reopen, monkeypatch):
    reopen()
    monkeypatch.setattr(storage_module, "SCHEMA", 2)
    with pytest.raises(InputError, match="has schema 1, but this AutoGM reads schema 2"):
        reopen()


@pytest.mark.parametrize("trials", [0, 1])
def test_somebody_elses_study_is_refused(reopen, trials):
    study = reopen()
    elses = optuna.create_study(storage=study._storage, study_name="elses")
    for _ in range(trials):
        elses.add_trial(optuna.trial.create_trial(value=1.0))
    with pytest.raises(
        InputError, match=r"'elses' in .* is not one of AutoGM's; give another name"
    ):
        reopen(name="elses")


def test_a_study_whose_maker_died_is_made_again(reopen, monkeypatch):
    monkeypatch.setattr(storage_module, "_MAKING", 0.01)
    goals = ["maximize", "minimize"]
    optuna.create_study(storage=reopen()._storage, study_name="half", directions=goals)
    assert reopen(name="half").begin(POINTS[0]).number == 0


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("study.csv", "or an address such as postgresql://host/name, but got 'study.csv'"),
        ("", "storage must be a file that ends in .db, .sqlite, .journal or .log"),
        ("mysql://me:hush@host/name", "but got 'mysql://me:***@host/name'"),
        ("redis://host", "but got 'redis://host'"),
        ("postgresql+nonsense://me:hush@host/x", "but got 'postgresql+nonsense://me:***@host/x'"),
        ("postgresql:/me:hush@host/x", "but got 'postgresql:***@host/x'"),
        ("postgresql://me:h@hush@host:port/x", "but got 'postgresql:***@host:port/x'"),
        ("sqlite://", "sqlite:// keeps nothing; name a file such as sqlite:///study.db"),
        ("/nowhere/study.db", "sqlite:////nowhere/study.db cannot be reached: unable to open"),
        ("/nowhere/study.journal", "/nowhere/study.journal cannot be reached: No such file or dir"),
        ("/tmp/.db/../.journal", "or an address such as"),
    ],
)
def test_a_storage_that_cannot_be(address, message):
    with pytest.raises(InputError, match=re.escape(message)) as error:
        opened(address)
    assert "hush" not in str(error.value)
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize("driver", ["postgresql", "postgres", "postgresql+psycopg"])
def test_a_server_that_does_not_answer(driver):
    pytest.importorskip("psycopg")
    with socket.socket() as taken:  # bound, not listening
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        address = f"{driver}://me:hush@127.0.0.1:{port}/x?application_name=hush"
        with pytest.raises(InputError, match=r"refused.*; check that the address") as error:
            opened(address)
    assert f"postgresql+psycopg://me:***@127.0.0.1:{port}/x cannot be" in str(error.value)
    assert "hush" not in str(error.value)


def test_a_wrong_password(server):
    with pytest.raises(InputError, match='password authentication failed for user "autogm"'):
        opened(f"postgresql://autogm:wrong@127.0.0.1:{server}/postgres")


@pytest.mark.parametrize("suffix", [".db", ".journal", ".log"])
@pytest.mark.parametrize("text", ["hello\n", "hello\nworld", '{"a": 1}\n', "[]\n", "\0\1"])
def test_a_file_of_something_else_is_left_alone(tmp_path, suffix, text):
    path = tmp_path / f"x{suffix}"
    path.write_text(text)
    with pytest.raises(InputError, match=r"file is not a database|is not the journal of a study"):
        opened(path)
    assert path.read_text() == text


@pytest.mark.parametrize("name", ["", "x" * 513, None])
def test_names(tmp_path, name):
    with pytest.raises(InputError, match="a study's name must be a text of 1 to 512 letters"):
        opened(tmp_path / "study.db", name)


@pytest.mark.parametrize("grace", [0, -1, float("nan"), float("inf"), "1", True])
def test_graces(tmp_path, grace):
    with pytest.raises(InputError, match=r"grace must be a number of seconds above 0, but got"):
        opened(tmp_path / "study.db", grace=grace)


@pytest.mark.parametrize("suffix", ["db", "sqlite", "journal", "log"])
def test_a_path_is_a_storage(tmp_path, suffix):
    folder = tmp_path / "a {folder}?x=%20#"
    folder.mkdir()
    path = folder / f"study.{suffix}"
    with opened(path) as study:
        study.begin(POINTS[0])
    assert path.exists()
    assert [found.name for found in folder.iterdir()] == [path.name]


def test_without_optuna(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingExtra, match=r"needs optuna, .* pip install 'autogm\[search\]'"):
        opened(tmp_path / "study.db")


@pytest.mark.parametrize(
    ("driver", "message"),
    [
        ("psycopg", r"a study in PostgreSQL needs psycopg, .* pip install 'autogm\[search\]'"),
        ("psycopg2", "needs psycopg2, which is not installed; postgresql:// without a driver"),
    ],
)
def test_without_a_driver(monkeypatch, driver, message):
    monkeypatch.setitem(sys.modules, driver, None)
    with pytest.raises(MissingExtra, match=message) as error:
        opened(f"postgresql+{driver}://me:hush@127.0.0.1/x")
    assert "hush" not in str(error.value)


def test_another_release_of_optuna(tmp_path):
    sqlite3 = pytest.importorskip("sqlite3")
    path = tmp_path / "study.db"
    opened(path).close()
    connection = sqlite3.connect(path)
    connection.execute("update alembic_version set version_num = 'v0.9.0.a'")
    connection.commit()
    connection.close()
    with pytest.raises(InputError, match="is of another release of Optuna: The runtime optuna"):
        opened(path)


def test_a_storage_that_goes_away(tmp_path):
    path = tmp_path / "study.db"
    with opened(path) as study:
        study.begin(POINTS[0])
        path.write_text("something else altogether\n" * 1000)
        with pytest.raises(
            AutoGMError, match=r"'cora' is out of reach in sqlite.*; what had ended"
        ):
            study.trials()


def test_a_journal_of_which_only_half_a_line_was_written(tmp_path):
    path = tmp_path / "study.journal"
    path.write_bytes(b'{"op_code":0,"worker_i')
    with opened(path) as study:
        study.begin(POINTS[0])
    with opened(path) as study:
        assert len(study.trials()) == 1


def test_a_line_that_was_not_written_to_its_end(tmp_path):
    path = tmp_path / "study.journal"
    with opened(path) as study:
        before = study.begin(POINTS[0])
    with path.open("ab") as file:
        file.write(b'{"op_code":8,"worker_id":"x","trial_id":0,"user_at')
    with opened(path) as study:
        assert study.trials() == [before]
        study.begin(POINTS[1])
    with opened(path) as study:
        assert [trial.point for trial in study.trials()] == POINTS[:2]


# ---- workers that die


def abandon(study):
    """What a worker leaves behind that stopped without a word."""
    study._stop.set()
    workers.OPEN.discard(study._worker["id"])


def elsewhere(study):
    """A worker of another machine, of which nothing can be known but its beats."""
    study._worker = {**study._worker, "host": "elsewhere"}
    return study


def test_a_dead_workers_trial_is_taken_over(reopen):
    dead, alive = reopen(), reopen()
    lost = dead.note(dead.begin(POINTS[0]), 0.125)
    kept = alive.begin(POINTS[1])
    abandon(dead)
    taken = alive.take()
    assert taken == Trial(
        number=2, point=POINTS[0], seconds=0.125, reason="taken over from trial 0"
    )
    assert taken.point == lost.point
    assert alive.trials() == [kept, taken]
    assert alive.take() is None
    assert alive.begin(POINTS[0]) is None


def test_what_was_put_before_a_worker_died_waits_on(reopen):
    dead, alive = reopen(), reopen()
    put = dead.put(dead.note(dead.begin(POINTS[0]), 1.0))
    abandon(dead)
    assert alive.take().number == put.number


def test_silence_is_death_after_a_while(reopen):
    silent = elsewhere(reopen(grace=0.3))
    silent.begin(POINTS[0])
    silent._stop.set()
    alive = reopen(grace=0.3)
    assert alive.take() is None
    time.sleep(0.4)
    assert alive.take().reason == "taken over from trial 0"


def test_a_worker_that_beats_lives(reopen):
    elsewhere(reopen(grace=0.9)).begin(POINTS[0])
    other = reopen(grace=0.9)
    for _ in range(12):
        assert other.take() is None
        time.sleep(0.1)


def test_one_takes_over(reopen):
    """Of all who find out at the same time, one has the point."""
    dead = reopen()
    dead.begin(POINTS[0])
    survivors = [reopen() for _ in range(4)]
    abandon(dead)
    taken = [trial for trial in at_once([study.take for study in survivors]) if trial]
    # Two may be in each other's way so that neither has it; then it is there for the next.
    taken = taken or [survivors[0].take()]
    assert len(taken) == 1
    assert survivors[0].trials() == taken


def test_one_takes_what_waits(reopen):
    """Also where it waits again and again, and who put it is one of those who want it."""
    workers = [reopen() for _ in range(3)]
    trial = workers[0].note(workers[0].begin(POINTS[0]), 1.0)
    owner = workers[0]
    for _ in range(6):
        owner.put(trial)
        taken = at_once([study.take for study in workers])
        assert [found for found in taken if found] == [trial]
        owner = workers[next(i for i, found in enumerate(taken) if found)]
    owner.end(trial, State.trained, accuracy=0.5)
    assert [t.state for t in workers[0].trials()] == [State.trained]


def test_one_begins_a_point(reopen):
    workers = [reopen() for _ in range(3)]
    for point in POINTS[:4]:
        found = at_once([lambda s=study, p=point: s.begin(p) for study in workers])
        assert len([trial for trial in found if trial]) == 1
    assert [trial.point for trial in workers[0].trials()] == POINTS[:4]


def test_threads_may_share_a_worker(reopen):
    study = reopen()
    found = at_once([lambda: list(map(study.begin, POINTS)) for _ in range(3)])
    assert sum(trial is not None for some in found for trial in some) == len(POINTS)


@pytest.mark.parametrize("point", POINTS[:3], ids=str)
def test_a_result_or_a_takeover(reopen, point):
    """A worker that is thought dead comes back with its result just then: one of both counts."""
    late, other = elsewhere(reopen()), reopen()
    trial = late.note(late.begin(point), 1.0)
    other._is_dead = lambda kept: True
    ended, taken = at_once([lambda: late.end(trial, State.trained, accuracy=0.5), other.take])
    [held] = other.trials()
    assert held == (taken or ended)
    assert (held.number == trial.number) is (taken is None)


def test_a_late_result_is_dropped(reopen):
    late, other = elsewhere(reopen(grace=0.2)), reopen(grace=0.2)
    trial = late.note(late.begin(POINTS[0]), 1.0)
    abandon(late)
    other.trials()
    time.sleep(0.3)
    taken = other.take()
    assert late.note(trial, 2.0).seconds == 2.0
    assert late.end(trial, State.trained, accuracy=0.1) == taken
    ended = other.end(taken, State.trained, accuracy=0.9)
    assert late.end(trial, State.trained, accuracy=0.1) == ended
    assert late.put(trial) == ended
    assert reopen().trials() == [ended]


def test_a_trial_ends_once(reopen):
    study = reopen()
    trial = study.note(study.begin(POINTS[0]), 1.0)
    ended = study.end(trial, State.trained, accuracy=0.5)
    assert study.end(trial, State.failed, reason="twice") == ended
    assert study.trials() == [ended]


def test_what_was_put_is_not_ended_by_who_put_it(reopen):
    study, other = reopen(), reopen()
    trial = study.note(study.begin(POINTS[0]), 1.0)
    study.put(trial)
    taken = other.take()
    assert study.end(trial, State.trained, accuracy=0.1) == taken
    assert other.end(taken, State.trained, accuracy=0.9).accuracy == 0.9


def test_a_survivor_that_dies_too_loses_nothing(reopen):
    first, third = reopen(), reopen()
    trial = first.note(first.begin(POINTS[0]), 0.5)
    abandon(first)
    # The second dies when it has withdrawn the trial and not yet claimed its point.
    third._withdraw(third._look()[0].id, "its worker died")
    assert third.trials() == []
    taken = third.take()
    assert (taken.point, taken.seconds) == (trial.point, 0.5)


def test_a_worker_that_dies_before_it_withdraws_is_not_seen(reopen):
    winner, loser = reopen(), reopen()
    held = winner.begin(POINTS[0])
    # As a loser that died at once: its trial is there, and holds nothing.
    loser._storage.create_new_trial(
        loser._study,
        optuna.trial.create_trial(
            state=optuna.trial.TrialState.RUNNING,
            params=POINTS[0],
            distributions=loser._distributions,
            user_attrs={"worker": loser._worker, "beat": 0},
        ),
    )
    abandon(loser)
    assert winner.trials() == [held]
    assert winner.take() is None
    ended = winner.end(held, State.failed)
    assert winner.trials() == [ended]


def test_a_point_that_kills_is_given_up(reopen):
    for _ in range(3):
        worker = reopen()
        trial = worker.take() or worker.begin(POINTS[0])
        assert trial is not None
        abandon(worker)
    last = reopen()
    assert last.take() is None
    [failed] = last.trials()
    assert failed.state is State.failed
    assert failed.reason == "3 workers died while they had it"


def test_elsewhere_only_known_times_are_taken(reopen, monkeypatch):
    dead = reopen()
    assert dead.home
    dead.begin(POINTS[0])
    dead.note(dead.begin(POINTS[1]), 0.5)
    abandon(dead)
    with monkeypatch.context() as patch:
        patch.setattr(socket, "gethostname", lambda: "elsewhere")
        away = reopen()
        assert not away.home
        assert away.take().point == POINTS[1]
        assert away.take() is None
    assert reopen().take().point == POINTS[0]


def at_once(calls):
    barrier, answers = threading.Barrier(len(calls)), [None] * len(calls)

    def run(i):
        barrier.wait()
        answers[i] = calls[i]()

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


@pytest.mark.parametrize(
    ("changes", "gone"),
    [
        ({}, False),
        ({"id": "closed"}, True),
        ({"pid": os.getppid(), "start": None}, False),
        ({"pid": os.getppid(), "start": "1"}, True),
        ({"pid": 2**22 + 1}, True),
        ({"pid": 2**22 + 1, "host": "elsewhere"}, False),
        ({"pid": 2**22 + 1, "boot": "before"}, False),
    ],
    ids=str,
)
@posix
def test_whether_a_process_is_gone(tmp_path, changes, gone):
    if changes.get("start") and not Path("/proc/self/stat").exists():
        pytest.skip("no /proc")
    with opened(tmp_path / "study.journal") as study:
        assert workers.is_gone({**study._worker, **changes}) is gone


# ---- processes


@pytest.fixture(scope="module")
def processes():
    """They fork from a server that has imported everything."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.search.worker_search", "sqlalchemy", "alembic"])
    return context


def lines(log, what):
    if not log.exists():
        return []
    found = map(json.loads, log.read_text().splitlines())
    return [line[1:] for line in found if line[0] == what]


def assert_all_are_trained(trials):
    assert sorted(map(str, (t.point for t in trials))) == sorted(map(str, POINTS))
    for trial in trials:
        point = {"seconds": seconds_of(trial.point), **score_of(trial.point)}
        expected = Trial(
            number=trial.number,
            point=trial.point,
            state=State.trained,
            reason=trial.reason,
            **point,
        )
        assert trial == expected


@posix
def test_a_killed_worker_is_replaced_at_once(processes, url):
    pipe, theirs = processes.Pipe()
    process = processes.Process(target=hold, args=(url, theirs))
    process.start()
    trial = pipe.recv()
    with opened(url) as study:
        assert study.trials() == [trial]
        assert study.take() is None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        taken = study.take()
        assert (taken.point, taken.seconds) == (trial.point, trial.seconds)


@posix
def test_a_killed_worker_nobody_waited_for(tmp_path):
    """A zombie is dead."""
    path = tmp_path / "study.journal"
    code = "import sys; from tests.search.worker_search import *; s = opened(sys.argv[1]); "
    code += "begun(s); print(flush=True); input()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    process.stdout.readline()
    with opened(path) as study:
        assert study.take() is None
        process.kill()
        end = time.monotonic() + 5
        while (taken := study.take()) is None and time.monotonic() < end:
            time.sleep(0.01)
        assert taken.reason == "taken over from trial 0"
    process.communicate()


@posix
def test_a_worker_that_was_only_asleep(processes, url):
    pipe, theirs = processes.Pipe()
    process = processes.Process(target=hold, args=(url, theirs, 1.0))
    process.start()
    trial = pipe.recv()
    with opened(url, grace=1.0) as study:
        os.kill(process.pid, signal.SIGSTOP)
        end = time.monotonic() + 10
        while (taken := study.take()) is None and time.monotonic() < end:
            time.sleep(0.1)
        os.kill(process.pid, signal.SIGCONT)
        assert taken.reason == f"taken over from trial {trial.number}"
        pipe.send("end")
        assert pipe.recv() == taken
        process.join()
        ended = study.end(taken, State.trained, accuracy=0.5)
        assert study.trials() == [ended]


@posix
def test_processes_train_each_point_once(processes, url, tmp_path):
    log, barrier = tmp_path / "log", processes.Barrier(3)
    workers = [processes.Process(target=work, args=(url, log, 0.0, barrier)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    for what in ("begun", "ended"):
        points = [str(point) for _, _, point in lines(log, what)]
        assert sorted(points) == sorted(map(str, POINTS))
    with opened(url) as study:
        assert_all_are_trained(study.trials())


@posix
def test_three_workers_of_which_one_is_killed(processes, url, tmp_path):
    log = tmp_path / "log"
    workers = [processes.Process(target=work, args=(url, log, 0.1)) for _ in range(3)]
    for worker in workers:
        worker.start()
    victim = workers[0]
    end = time.monotonic() + 30
    while victim.pid not in [pid for pid, _, _ in lines(log, "begun")] and time.monotonic() < end:
        time.sleep(0.01)
    os.kill(victim.pid, signal.SIGKILL)
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [-signal.SIGKILL, 0, 0]
    points = [str(point) for _, _, point in lines(log, "ended")]
    assert sorted(points) == sorted(map(str, POINTS))
    with opened(url) as study:
        trials = study.trials()
        assert_all_are_trained(trials)
    begun_by_victim = [number for pid, number, _ in lines(log, "begun") if pid == victim.pid]
    assert f"taken over from trial {begun_by_victim[-1]}" in [trial.reason for trial in trials]


def kill_and_go_on(processes, url, log, moment):
    process = processes.Process(target=work, args=(url, log, 0.02))
    process.start()
    process.join(moment)
    process.kill()
    process.join()
    with opened(url) as study:
        before = study.trials()
    work(url, log)
    with opened(url) as study:
        after = study.trials()
    ended = [trial for trial in before if not trial.is_pending]
    assert after[: len(ended)] == ended
    assert_all_are_trained(after)
    assert len([trial for trial in after if trial.reason]) == len(before) - len(ended)
    points = [str(point) for _, _, point in lines(log, "ended")]
    # Who was killed right after the end of a trial may not have written it down.
    assert len(set(points)) == len(points) >= len(POINTS) - 1


@posix
@pytest.mark.parametrize("moment", [0.05, 0.2, 0.4])
def test_a_killed_search_goes_on(processes, url, tmp_path, moment):
    kill_and_go_on(processes, url, tmp_path / "log", moment)


@posix
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_a_search_killed_at_any_moment_goes_on(processes, url, tmp_path, seed):
    kill_and_go_on(processes, url, tmp_path / "log", random.Random(seed).uniform(0.0, 0.8))
