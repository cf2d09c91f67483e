"""Shards whose partial results lie in an object store: a server that speaks as Amazon S3 does."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_party import free_ports, parties

pytest.importorskip("moto", reason="the object store is that of moto")

import boto3
from moto.server import ThreadedMotoServer

PARTIES = (0, 1, 2)

ROWS = [["0", "13"], ["2", "12"]]

JOB = """
shards = 3
attempts = 12
query = "SELECT region, COUNT(*) FROM people JOIN loans ON id = of GROUP BY region ORDER BY region"

[answer]
to = [0, 1, 2]
max_rows = 4

[[table]]
name = "people"
party = 0
file = "people.csv"
columns = { id = "u32 not null", region = "u8 not null" }
max_rows = 60
unique = ["id"]
distinct = { region = 4 }

[[table]]
name = "loans"
party = 1
file = "loans.csv"
columns = { of = "u32 not null" }
max_rows = 60
unique = ["of"]
"""


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Start a server with a bucket that keeps old versions, and tell the environment of it."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "some",
        "AWS_SECRET_ACCESS_KEY": "other",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "NO_PROXY": "127.0.0.1",
    }.items():
        monkeypatch.setenv(name, value)
    client = boto3.client("s3")
    client.create_bucket(Bucket="bucket")
    client.put_bucket_versioning(Bucket="bucket", VersioningConfiguration={"Status": "Enabled"})
    yield client
    client.close()
    # Another server of this process would have the same objects.
    with urllib.request.urlopen(f"http://{host}:{port}/moto-api/reset", data=b"", timeout=60):
        pass
    server.stop()


def start(folder: Path, party: int, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "cenote", *arguments, "--config", f"{party}/party.toml"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    output = process.communicate(timeout=120)
    return subprocess.CompletedProcess(process.args, process.returncode, *output)


def run(folder: Path, *arguments: str) -> list[subprocess.CompletedProcess[str]]:
    """Run a command at all parties side by side."""
    return [ended(process) for process in [start(folder, party, *arguments) for party in PARTIES]]


def job(folder: Path) -> None:
    (folder / "people.csv").write_text("id,region\n" + "".join(f"{person},{person % 4}\n" for person in range(50)))
    (folder / "loans.csv").write_text("of\n" + "".join(f"{2 * person}\n" for person in range(50)))
    (folder / "job.toml").write_text(JOB)


def test_shards_keep_what_they_compute_in_a_bucket(bucket: Any, tmp_path: Path) -> None:
    parties(tmp_path, 3, 'shards_store = "s3://bucket/of/shards"')
    job(tmp_path)
    for done in run(tmp_path, "party", "job.toml", "--json"):
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["answer"]["rows"] == ROWS
    versions = bucket.list_object_versions(Bucket="bucket")
    # Three shards of each of three parties were kept, and nothing is left of them.
    kept = {version["Key"] for version in versions["Versions"]}
    assert len(kept) == 9
    assert len({key.split("/")[2] for key in kept}) == 3
    assert all(key.startswith("of/shards/") for key in kept)
    assert {marker["Key"] for marker in versions["DeleteMarkers"]} == kept
    assert "Contents" not in bucket.list_objects_v2(Bucket="bucket")


def test_workers_find_their_rows_in_a_bucket(bucket: Any, tmp_path: Path) -> None:
    parties(tmp_path, 3, 'shards_store = "s3://bucket"')
    job(tmp_path)
    # No tables are beside this one.
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "job.toml").write_text(JOB)
    desks = [f"127.0.0.1:{port}" for port in free_ports(3)]
    coordinators = [
        start(tmp_path, party, "party", "job.toml", "--json", "--coordinate", desks[party]) for party in PARTIES
    ]
    worker = ["shard", "elsewhere/job.toml", "--host", "127.0.0.1", "--coordinator"]
    workers = [start(tmp_path, party, *worker, desks[party]) for party in PARTIES]
    for done in map(ended, coordinators):
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["answer"]["rows"] == ROWS
    for done in map(ended, workers):
        assert done.returncode == 0, done.stderr
    versions = bucket.list_object_versions(Bucket="bucket")
    kept = {version["Key"] for version in versions["Versions"]}
    # One table that all shards have whole, and one in three parts, all of one length however many rows they have.
    placed = {version["Key"]: version["Size"] for version in versions["Versions"] if "-table-" in version["Key"]}
    assert len(placed) == 4
    assert len({size for key, size in placed.items() if "-table-1-shard-" in key}) == 1
    assert len(kept) == 13
    assert "Contents" not in bucket.list_objects_v2(Bucket="bucket")


def test_a_bucket_that_is_none_loses_attempts(bucket: Any, tmp_path: Path) -> None:
    parties(tmp_path, 3, 'timeout = 20\nshards_store = "s3://none/prefix"')
    job(tmp_path)
    for done in run(tmp_path, "party", "job.toml"):
        assert done.returncode == 3, done.stderr
        assert "cannot be written" in done.stderr
        assert "s3://none/prefix/" in done.stderr
        assert "AWS_SECRET_ACCESS_KEY" in done.stderr
