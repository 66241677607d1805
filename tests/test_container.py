"""The Dockerfile and compose.yaml: their rules, that they fit the other files, and the steps of the image without a container engine."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from packaging.specifiers import SpecifierSet

from tests.app_server import ROOT, free_port

REFUSED = {
    "DL3002": r"^USER (root|0)\b",
    "DL3004": r"^RUN .*\bsudo\b",
    "DL3007": r"^FROM \S+:latest",
    "DL3020": r"^ADD ",
    "DL3025": r"^(CMD|ENTRYPOINT) [^\[]",
    "DL3042": r"^RUN (?=.*pip install)(?!.*--no-cache-dir)",
    "DL4000": r"^MAINTAINER",
}
"""Rules of hadolint by number, as patterns that no step may fit; the slow test asks hadolint itself, which knows all."""


class Step(NamedTuple):
    """A line of the Dockerfile: its instruction and the rest."""

    instruction: str
    rest: str


def steps() -> list[Step]:
    """The steps of the Dockerfile in their order."""
    lines = (ROOT / "Dockerfile").read_text("utf-8").replace("\\\n", " ").splitlines()
    return [Step(*line.split(" ", 1)) for line in lines if line and not line.startswith("#")]


def shared_python() -> str | None:
    """A Python that every user may run: this one, or the system's."""
    for path in (Path(sys.base_prefix, "bin", "python3"), Path("/usr/bin/python3")):
        if path.exists() and all(parent.stat().st_mode & 1 for parent in path.resolve().parents):
            return str(path)
    return None


def compose() -> dict[str, Any]:
    """The services of compose.yaml by name."""
    return yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]


def test_the_image_keeps_the_rules_and_its_settings_exist():
    lines = [" ".join(step) for step in steps()]
    broken = [(rule, line) for rule, pattern in REFUSED.items() for line in lines if re.match(pattern, line)]
    assert not broken
    assert all(
        re.match(r"\S+:[\w.-]+( AS \w+)?$", step.rest) for step in steps() if step.instruction == "FROM"
    )
    users = [step.rest for step in steps() if step.instruction == "USER"]
    assert users and users[-1].isdigit() and int(users[-1]) > 0
    assert [step.instruction for step in steps()][-2:] == ["HEALTHCHECK", "CMD"]
    python = re.search(r"FROM python:(\d+)\.(\d+)", (ROOT / "Dockerfile").read_text("utf-8"))
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    least = re.search(r'requires-python = ">=(\d+)\.(\d+)"', project)
    assert python and least and tuple(map(int, python.groups())) >= tuple(map(int, least.groups()))
    allowed = re.search(r'"torch(>=[^"]+)"', project)
    pinned = re.search(r'"torch==([\d.]+)"', (ROOT / "Dockerfile").read_text("utf-8"))
    assert allowed and pinned and SpecifierSet(allowed[1]).contains(pinned[1])
    read = "\n".join(
        path.read_text("utf-8") for home in ("viz", "core") for path in (ROOT / home).rglob("*.py")
    )
    texts = [
        (ROOT / name).read_text("utf-8") for name in ("Dockerfile", "compose.yaml", "examples/container.md")
    ]
    assert all(name in read for name in {*re.findall(r"ATLAS_[A-Z]+", "\n".join(texts))})


def test_the_copies_of_compose_are_those_that_nginx_knows():
    services = compose()
    ports = {
        command[command.index("--server.port") + 1]
        for service in services.values()
        if "--server.port" in (command := service.get("command", []))
    }
    nginx = (ROOT / "examples" / "nginx.conf").read_text("utf-8")
    assert ports == {*re.findall(r"server 127\.0\.0\.1:(\d+);", nginx)}
    assert services["web"]["ports"] == [f"{port}:{port}" for port in re.findall(r"listen (\d+);", nginx)]
    inner = {name: service for name, service in services.items() if name != "web"}
    assert all(
        service["network_mode"] == "service:web" and "ports" not in service for service in inner.values()
    )
    assert all(service["read_only"] for service in services.values())
    assert services["second"]["healthcheck"]["test"][-1].count(":8502/") == 1


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("hadolint") is None, reason='pip install -e ".[audit]"')
def test_hadolint_has_nothing_to_say():
    linted = subprocess.run(["hadolint", "Dockerfile"], cwd=ROOT, capture_output=True, text=True)
    assert (linted.returncode, linted.stdout) == (0, "")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user may enter, unlike those of pytest."""
    with tempfile.TemporaryDirectory() as place:
        yield Path(place)


@pytest.mark.slow
@pytest.mark.skipif(
    os.getuid() != 0 or shared_python() is None, reason="Needs root, and a Python that other users may run."
)
def test_the_steps_of_the_image_give_a_server_of_another_user(folder):
    """Carry out RUN, COPY and ENV in a folder of their own, then CMD and HEALTHCHECK as the user that USER names."""
    folder.chmod(0o755)
    place = {
        "/opt/atlas": str(folder / "atlas"),
        "/src": str(folder / "src"),
        "/tmp": str(folder / "home"),
    }
    (folder / "src").mkdir()
    (folder / "home").mkdir(mode=0o777)
    (folder / "home").chmod(0o777)
    port = free_port()

    def placed(text: str) -> str:
        text = re.sub("|".join(place), lambda match: place[match[0]], text)
        return re.sub("^python ", f"{shared_python()} ", text.replace("8501", str(port)))

    outside, environment, user, command, health = dict(os.environ), {}, 0, [], []
    for name in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"):
        outside.pop(name, None)
    for instruction, rest in steps():
        if instruction == "FROM":
            environment = dict(outside)
        elif instruction == "ENV":
            for name, value in re.findall(r'(\w+)="([^"]*)"', placed(rest)):
                environment[name] = value.replace("$PATH", environment["PATH"])
        elif instruction == "RUN" and "useradd" not in rest:
            subprocess.run(["bash", "-ec", placed(rest)], cwd=folder / "src", env=environment, check=True)
        elif instruction == "COPY" and not rest.startswith("--from"):
            kept = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
            for name in kept.stdout.split() if rest.startswith(". ") else shlex.split(rest)[:-1]:
                if not name.startswith("tests/"):
                    (folder / "src" / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(ROOT / name, folder / "src" / name)
        elif instruction == "USER":
            user = int(rest)
        elif instruction == "HEALTHCHECK":
            health = json.loads(placed(rest[rest.index("CMD ") + 4 :]))
        elif instruction == "CMD":
            command = json.loads(placed(rest))
    shutil.rmtree(folder / "src")
    subprocess.run(["chmod", "-R", "a-w", place["/opt/atlas"]], check=True)
    server = subprocess.Popen(
        command, cwd=place["/tmp"], env=environment, user=user, group=user, extra_groups=[]
    )
    try:
        for _ in range(240):
            assert server.poll() is None
            if subprocess.run(health, env=environment, user=user, capture_output=True).returncode == 0:
                break
            time.sleep(0.5)
        for address, content in (("", b'<div id="root">'), ("app/static/favicon.svg", b"<svg")):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/{address}", timeout=20) as answer:
                assert answer.status == 200 and content in answer.read()
    finally:
        server.terminate()
        assert server.wait(30) is not None
