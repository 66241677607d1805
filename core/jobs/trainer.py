"""Trainings that visitors start: one at a time for the whole server, each in a process of its own, the others in a queue.

A training ends when it is done, when it is stopped, after a limit of time, or when nobody has asked about it for a
while: the tab is closed. What it reported until then is kept, and its weights with it, for the visitor who started it.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from safetensors.torch import load_file
from torch import Tensor

from core.errors import InputError
from core.model import Model
from core.training import jobs
from core.training.jobs import JOBS
from core.training.records import Report
from core.training.toy.toy_training import LONGEST

log = logging.getLogger(__name__)
YOURS = "yours: "
PATIENCE = 20.0
"""Seconds after which a training that nobody asked about is ended."""
GRACE = 20.0
"""Seconds that a process has beyond its limit: to begin, and to write its last moment."""
VARIABLE = "ATLAS_TRAININGS"
MOST_WAITING = 20
MOST_KEPT = 40
SEEDS = 10_000
BEAT = 0.05
ROOT = Path(__file__).resolve().parents[2]
UNWATCHED = "Nobody looked at it any more."
State = Literal["waiting", "running", "done", "stopped", "failed"]


@dataclass(frozen=True)
class Training:
    """The state of a training: its `place` in the queue (0: it runs or is over), its reports, and the reason of its end.

    `seed` is what its draws begin with: the same one gives the same training again, to the last step that time allows.
    """

    name: str
    task: str
    state: State
    place: int
    reports: tuple[Report, ...]
    folder: Path
    reason: str = ""
    seed: int = 0

    @property
    def over(self) -> bool:
        return self.state not in ("waiting", "running")

    def weights(self, step: int) -> Mapping[str, Tensor]:
        """Return the weights of a reported step; of a fine-tuning always the last."""
        return load_file(self.folder / jobs.weights_file(JOBS[self.task], step))

    def model(self, step: int | None = None) -> Model:
        """Return the model at its last report, or at this step. Raises InputError before the first report."""
        if not self.reports:
            raise InputError(
                "{name} has learned nothing yet.",
                "A training reports after its first second or so.",
                "Wait for its first report.",
                name=self.name,
            )
        return jobs.model(
            JOBS[self.task],
            self.weights(self.reports[-1].step if step is None else step),
            self.name if step is None else f"{self.name} at step {step}",
        )


@dataclass(eq=False)
class _Job:
    session: str
    name: str
    task: str
    folder: tempfile.TemporaryDirectory[str]
    last_look: float
    seed: int
    state: State = "waiting"
    reason: str = ""
    stop: bool = False
    reports: list[Report] = field(default_factory=list)


class Trainer:
    """The queue of trainings. `command(task, folder)` is the command line of a training, to which `--seed N` is
    appended; a session has one training at a time.

    >>> trainer = Trainer()
    >>> trainer.progress("nobody") is None
    True
    """

    def __init__(
        self,
        command: Callable[[str, Path], Sequence[str]] | None = None,
        *,
        longest: float = LONGEST + GRACE,
        patience: float = PATIENCE,
    ) -> None:
        self._command = command or _command
        self._longest, self._patience = longest, patience
        self._lock = threading.Lock()
        self._jobs: dict[str, _Job] = {}
        self._now: dict[str, str] = {}
        self._worker: threading.Thread | None = None

    def start(self, session: str, task: str, seed: int | None = None) -> str:
        """Start a training or queue it, and return its name; an unfinished one of this session is stopped.

        Without a seed a random one is drawn. Raises InputError for an unknown task, when too many wait, or where none may be
        started (`ATLAS_TRAININGS=0`).
        """
        if os.environ.get(VARIABLE, "").strip() == "0":
            raise InputError(
                "This server trains no models.",
                "A training takes a process of its own, and this server has little memory.",
                "Look at the recorded run, or start the app yourself, without {variable}=0.",
                variable=VARIABLE,
            )
        if task not in JOBS:
            raise InputError(
                "There is no task '{task}'.",
                "Tasks: {names}.",
                "Choose one of them.",
                task=task,
                names=", ".join(JOBS),
            )
        self.stop(session)
        with self._lock:
            self._forget_the_gone()
            if len(self._waiting()) >= MOST_WAITING:
                raise InputError(
                    "Too many trainings wait already.",
                    "At most {most} wait, and one runs.",
                    "Look at the recorded run, and try again in a few minutes.",
                    most=MOST_WAITING,
                )
            name = f"{YOURS}{task} ({secrets.token_hex(4)})"
            self._jobs[name] = _Job(
                session,
                name,
                task,
                tempfile.TemporaryDirectory(prefix="atlas-training-"),
                time.monotonic(),
                secrets.randbelow(SEEDS) if seed is None else seed,
            )
            self._now[session] = name
            if self._worker is None:
                self._worker = threading.Thread(target=self._work, name="trainer", daemon=True)
                self._worker.start()
        return name

    def stop(self, session: str) -> None:
        """Stop the training of this session, if one runs or waits; its weights so far are kept."""
        with self._lock:
            job = self._job(session)
            if job is None:
                return
            job.stop = True
            if job.state == "waiting":
                job.state, job.reason = "stopped", "You stopped it before it began."

    def progress(self, session: str) -> Training | None:
        """Return the training of this session; None where it has none. Asking keeps it alive: it ends when the page is gone."""
        with self._lock:
            job = self._job(session)
            if job is None:
                return None
            job.last_look = time.monotonic()
            return self._training(job)

    def latest(self, session: str, task: str) -> Training | None:
        """Return the last training of this task in this session, over or not; None where it has none. Asking keeps it alive."""
        with self._lock:
            job = next(
                (job for job in reversed(self._jobs.values()) if (job.session, job.task) == (session, task)),
                None,
            )
            if job is None:
                return None
            job.last_look = time.monotonic()
            return self._training(job)

    def find(self, name: str, session: str = "") -> Training:
        """Return a training by its name, for the session that started it ("" may open all).

        Raises InputError for one that is gone, or of another visitor.
        """
        with self._lock:
            job = self._jobs.get(name)
            if job is None or session not in ("", job.session):
                raise InputError(
                    "This model is no longer here.",
                    "A model that you train lives as long as your visit, and for you only.",
                    "Train it again.",
                )
            return self._training(job)

    def _job(self, session: str) -> _Job | None:
        return self._jobs.get(self._now.get(session, ""))

    def _waiting(self) -> list[_Job]:
        return [job for job in self._jobs.values() if job.state == "waiting"]

    def _training(self, job: _Job) -> Training:
        ahead = sum(other.state == "running" for other in self._jobs.values()) + (
            self._waiting().index(job) if job.state == "waiting" else 0
        )
        return Training(
            job.name,
            job.task,
            job.state,
            ahead if job.state == "waiting" else 0,
            tuple(job.reports),
            Path(job.folder.name),
            job.reason,
            job.seed,
        )

    def _forget_the_gone(self) -> None:
        over = [job for job in self._jobs.values() if job.state not in ("waiting", "running")]
        for job in over[: max(0, len(over) - MOST_KEPT)]:
            del self._jobs[job.name]
            job.folder.cleanup()
        self._now = {session: name for session, name in self._now.items() if name in self._jobs}

    def _work(self) -> None:
        while True:
            with self._lock:
                for job in self._waiting():
                    if time.monotonic() - job.last_look > self._patience:
                        job.state, job.reason = "stopped", UNWATCHED
                job = next(iter(self._waiting()), None)
                if job is None:
                    self._worker = None
                    return
                job.state = "running"
            try:
                state, reason = self._train(job)
            except Exception as error:
                log.exception("The training %s failed.", job.task)
                state, reason = "failed", f"The training could not be watched ({type(error).__name__})."
            with self._lock:
                job.state, job.reason = state, reason

    def _train(self, job: _Job) -> tuple[State, str]:
        """Run the process of a job to its end and return its final state and reason."""
        folder = Path(job.folder.name)
        try:
            with (folder / "errors.txt").open("wb") as errors:
                process = subprocess.Popen(
                    [*self._command(job.task, folder), "--seed", str(job.seed)],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    cwd=folder,
                    env=_surroundings(),
                )
        except OSError as error:
            return "failed", f"The process of the training could not be started ({type(error).__name__})."
        listener = threading.Thread(target=self._listen, args=(job, process), daemon=True)
        listener.start()
        why = self._watch(job, process)
        if why is not None:
            process.kill()
        code = process.wait()
        listener.join()
        if why is not None:
            return why
        if code == 0 and job.reports:
            return "done", ""
        log.warning(
            "The training %s ended with %s: %s",
            job.task,
            code,
            (folder / "errors.txt").read_text("utf-8", "replace")[-2000:],
        )
        how = f"was ended from outside (signal {-code})" if code < 0 else f"ended with an error (code {code})"
        return "failed", f"The process of the training {how}. What it had learned until then is shown."

    def _watch(self, job: _Job, process: subprocess.Popen[bytes]) -> tuple[State, str] | None:
        """Wait for the process; return the state and the reason where it must be stopped early."""
        begun = time.monotonic()
        while process.poll() is None:
            now = time.monotonic()
            with self._lock:
                stop, last_look = job.stop, job.last_look
            if stop:
                return "stopped", "You stopped it."
            if now - last_look > self._patience:
                return "stopped", UNWATCHED
            if now - begun > self._longest:
                return "failed", f"It was ended after {self._longest:.0f} seconds."
            time.sleep(BEAT)
        return None

    def _listen(self, job: _Job, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                try:
                    report = Report.read(json.loads(line))
                except (ValueError, TypeError, KeyError):
                    continue  # half a line of a process that was killed
                with self._lock:
                    job.reports.append(report)


def _command(task: str, folder: Path) -> list[str]:
    return [sys.executable, "-m", "core.training.worker", task, str(folder)]


def _surroundings() -> dict[str, str]:
    one = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return (
        os.environ
        | one
        | {"PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))}
    )


_default: Trainer | None = None
_making = threading.Lock()


def default() -> Trainer:
    """Return the trainer of this process, made at the first call.

    >>> default() is default()
    True
    """
    global _default
    with _making:
        if _default is None:
            _default = Trainer()
        return _default
