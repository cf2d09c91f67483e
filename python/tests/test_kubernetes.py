"""Manifests and scripts that run shards on Kubernetes and Slurm are in order, and so are the commands of documents."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml

CHECKOUT = Path(__file__).resolve().parents[2]
KUBERNETES = CHECKOUT / "deploy" / "kubernetes"
SLURM = CHECKOUT / "deploy" / "slurm"
DOCUMENTS = [KUBERNETES / "README.md", CHECKOUT / "docs" / "scaling.md"]

# The oldest that has all fields, and the newest whose schemas there are.
VERSIONS = ["1.29.0", kubernetes_validate.latest_version()]

# Where pods of this party have what the job needs.
FOLDERS = ("/etc/cenote", "/run/cenote", "/srv/cenote")

Resource = dict[str, Any]


def program() -> Path:
    folder = os.environ.get("CENOTE_PROGRAMS")
    if not folder:
        pytest.skip("CENOTE_PROGRAMS does not name the folder of the program cenote")
    path = Path(folder).absolute() / "cenote"
    if not path.is_file():
        pytest.skip(f"there is no program {path}")
    return path


# Manifests


def documents(text: str) -> list[Resource]:
    return [each for each in yaml.safe_load_all(text) if each]


def as_written() -> list[Resource]:
    """Read the manifests that the kustomization lists, with the ConfigMap that it makes."""
    kustomization = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())
    resources = [each for name in kustomization["resources"] for each in documents((KUBERNETES / name).read_text())]
    for made in kustomization["configMapGenerator"]:
        if "files" in made:
            data = {name: (KUBERNETES / name).read_text() for name in made["files"]}
            metadata = {"name": made["name"], "namespace": kustomization["namespace"]}
            resources.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
    return resources


def put_together(folder: Path) -> list[Resource]:
    """Have kubectl put the manifests in a folder together."""
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("there is no kubectl")
    done = subprocess.run([kubectl, "kustomize", folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return documents(done.stdout)


def changed(folder: Path, name: str, *changes: tuple[str, str]) -> Path:
    """Copy the manifests, with changes to one of the files."""
    copy = folder / "kubernetes"
    if not copy.exists():
        shutil.copytree(KUBERNETES, copy)
    text = (copy / name).read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    (copy / name).write_text(text)
    return copy


# Parts of the kustomization that are there to be chosen, by what they do.
COMPONENTS = {"with ports of machines": "host-port", "through the coordinator": "relay"}


@pytest.fixture(params=["as written", "put together", *COMPONENTS])
def resources(request: pytest.FixtureRequest, tmp_path: Path) -> list[Resource]:
    if request.param == "as written":
        return as_written()
    if request.param == "put together":
        return put_together(KUBERNETES)
    chosen = f"components: [{COMPONENTS[request.param]}]"
    return put_together(changed(tmp_path, "kustomization.yaml", (f"# {chosen}", chosen)))


def find(resources: list[Resource], kind: str, name: str) -> Resource:
    (found,) = [each for each in resources if (each["kind"], each["metadata"]["name"]) == (kind, name)]
    return found


def pods(resources: list[Resource]) -> Iterator[tuple[str, Resource, Resource]]:
    """Give the name, the metadata and the specification of all pods."""
    for each in resources:
        if each["kind"] == "Job":
            template = each["spec"]["template"]
            yield each["metadata"]["name"], template["metadata"], template["spec"]
        if each["kind"] == "Pod":
            yield each["metadata"]["name"], each["metadata"], each["spec"]


def containers(pod: Resource) -> list[Resource]:
    return [*pod.get("initContainers", []), *pod["containers"]]


def job_container(resources: list[Resource], name: str) -> Resource:
    (container,) = find(resources, "Job", name)["spec"]["template"]["spec"]["containers"]
    assert isinstance(container, dict)
    return container


@pytest.mark.parametrize("version", VERSIONS)
def test_manifests_fit_the_published_schemas(resources: list[Resource], version: str) -> None:
    secret = documents((KUBERNETES / "identity.example.yaml").read_text())
    for resource in resources + secret:
        kubernetes_validate.validate(resource, version, strict=True)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("backoffLimitPerIndex: 3", "backoffLimitPerindex: 3"),
        ("completions: 4", "completions: four"),
        ("status: ", "state: "),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused(old: str, new: str, version: str) -> None:
    text = (KUBERNETES / "workers.yaml").read_text()
    assert old in text
    job, _ = documents(text.replace(old, new))
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(job, version, strict=True)


def dangling(resources: list[Resource]) -> list[str]:
    """Give what is named and is not there."""
    names = {(each["kind"], each["metadata"]["name"]) for each in resources}
    (secret,) = documents((KUBERNETES / "identity.example.yaml").read_text())
    assert not secret["stringData"]["identity.pem"].startswith("-----BEGIN")
    names.add(("Secret", secret["metadata"]["name"]))
    missing = []

    def named(of: str, kind: str, name: str) -> None:
        if (kind, name) not in names:
            missing.append(f"{of}: {kind} {name}")

    for of, _, pod in pods(resources):
        for volume in pod["volumes"]:
            if "secret" in volume:
                named(of, "Secret", volume["secret"]["secretName"])
            elif "configMap" in volume:
                named(of, "ConfigMap", volume["configMap"]["name"])
            elif "persistentVolumeClaim" in volume:
                named(of, "PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"])
            else:
                assert "emptyDir" in volume
        volumes = {volume["name"] for volume in pod["volumes"]}
        mounts = [mount["name"] for container in containers(pod) for mount in container["volumeMounts"]]
        missing += [f"{of}: volume {name}" for name in mounts if name not in volumes]
        if "subdomain" in pod:
            named(of, "Service", pod["subdomain"])
        for container in containers(pod):
            for word in container["command"]:
                if found := re.fullmatch(r"([a-z]+):[0-9]+", word):
                    named(of, "Service", found[1])
    labels = [metadata.get("labels", {}) for _, metadata, _ in pods(resources)]
    for each in resources:
        namespace = each["metadata"].get("namespace")
        if each["kind"] != "Namespace":
            named(each["metadata"]["name"], "Namespace", namespace)
        if each["kind"] == "Service":
            selector = each["spec"]["selector"].items()
            if not any(selector <= of_pod.items() for of_pod in labels):
                missing.append(f"pods of Service {each['metadata']['name']}")
    return missing


def test_whatever_manifests_name_is_there(resources: list[Resource]) -> None:
    assert dangling(resources) == []
    for kind, name in [
        ("ConfigMap", "job"),
        ("PersistentVolumeClaim", "shards"),
        ("Service", "workers"),
        ("Service", "coordinator"),
    ]:
        others = [each for each in resources if (each["kind"], each["metadata"]["name"]) != (kind, name)]
        assert any(missing.endswith(f"{kind} {name}") for missing in dangling(others))


def test_services_lead_to_the_ports_where_commands_listen(resources: list[Resource]) -> None:
    text = (KUBERNETES / "party.toml").read_text()
    (listen,) = re.findall(r'^listen = "[0-9.]+:([0-9]+)"', text, re.MULTILINE)
    (_, coordinate) = option(job_container(resources, "coordinator")["command"], "--coordinate").split(":")
    worker = job_container(resources, "workers")["command"]
    wanted = {("peers", "peers"): listen, ("coordinator", "workers"): coordinate}
    if "--relay" in worker:
        (_, relay) = option(job_container(resources, "coordinator")["command"], "--relay").split(":")
        # Peers dial it, and workers hold connections ready there.
        wanted |= {("peers", "relay"): relay, ("coordinator", "relay"): relay}
    else:
        wanted["workers", "peers"] = option(worker, "--listen").split(":")[1]
    _, asked = option(worker, "--coordinator").split(":")
    assert asked == coordinate
    for (service, name), number in wanted.items():
        (port,) = [each for each in find(resources, "Service", service)["spec"]["ports"] if each["name"] == name]
        container = job_container(resources, "workers" if service == "workers" else "coordinator")
        (of_pod,) = [each for each in container["ports"] if each["name"] == port["targetPort"]]
        assert str(port["port"]) == str(of_pod["containerPort"]) == number
        assert of_pod.get("hostPort", int(number)) == int(number)


def test_workers_have_names_that_peers_find(resources: list[Resource]) -> None:
    job = find(resources, "Job", "workers")
    pod, container = job["spec"]["template"]["spec"], job_container(resources, "workers")
    if "--relay" in container["command"]:
        assert not {"--listen", "--host"} & set(container["command"])
        return
    host = option(container["command"], "--host")
    if "hostPort" in container["ports"][0]:
        assert host == "$(MACHINE)"
    else:
        # So Kubernetes names the pods of such a job.
        assert host == f"{job['metadata']['name']}-$(JOB_COMPLETION_INDEX).{pod['subdomain']}.$(NAMESPACE).svc"
        assert find(resources, "Service", pod["subdomain"])["spec"]["clusterIP"] == "None"
    variables = {each["name"]: each["valueFrom"]["fieldRef"]["fieldPath"] for each in container["env"]}
    known = {"NAMESPACE": "metadata.namespace", "MACHINE": "status.hostIP"}
    for name in set(re.findall(r"\$\((\w+)\)", host)) - {"JOB_COMPLETION_INDEX"}:
        assert variables[name] == known[name]


def option(command: list[str], name: str) -> str:
    return command[command.index(name) + 1]


def test_failed_checks_end_jobs_and_lost_peers_are_counted(resources: list[Resource]) -> None:
    workers = find(resources, "Job", "workers")["spec"]
    assert workers["completionMode"] == "Indexed"
    assert workers["completions"] == workers["parallelism"]
    assert workers["backoffLimitPerIndex"] == 3
    assert find(resources, "Job", "coordinator")["spec"]["backoffLimit"] == 3
    for name, container in [("workers", "worker"), ("coordinator", "coordinator")]:
        job = find(resources, "Job", name)["spec"]
        assert job["podReplacementPolicy"] == "Failed"
        # Kubernetes refuses a policy by exit codes otherwise.
        assert job["template"]["spec"]["restartPolicy"] == "Never"
        assert job["template"]["spec"]["terminationGracePeriodSeconds"] == 60

        def codes(action: str, values: list[int], of: str = container) -> Resource:
            on = {"containerName": of, "operator": "In", "values": values}
            return {"action": action, "onExitCodes": on}

        disrupted = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
        # The first that fits decides: a failed check ends the job even on a machine that is drained.
        assert job["podFailurePolicy"]["rules"] == [
            codes("FailJob", [4, 6]),
            codes("FailJob", [2]),
            disrupted,
            codes("Count", [3]),
        ]


def test_pods_are_confined(resources: list[Resource]) -> None:
    for _, _, pod in pods(resources):
        assert pod["automountServiceAccountToken"] is False
        security = pod["securityContext"]
        assert security["runAsNonRoot"] is True
        # The user of deploy/Containerfile.
        assert f"--uid {security['runAsUser']}" in (CHECKOUT / "deploy" / "Containerfile").read_text()
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in containers(pod):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert container["resources"]["limits"]["memory"] == container["resources"]["requests"]["memory"]


def test_only_the_first_container_of_a_pod_has_the_secret_and_nobody_else_its_copy(resources: list[Resource]) -> None:
    for name in ("coordinator", "workers"):
        pod = find(resources, "Job", name)["spec"]["template"]["spec"]
        (first,) = pod["initContainers"]
        mounts = {mount["name"]: mount["mountPath"] for mount in first["volumeMounts"]}
        copied = f"{mounts['identity']}/identity.pem"
        assert first["command"] == ["install", "-m", "600", copied, f"{mounts['key']}/identity.pem"]
        (container,) = pod["containers"]
        assert "identity" not in {mount["name"] for mount in container["volumeMounts"]}
        (named,) = re.findall(r'^identity = "(.*)"', (KUBERNETES / "party.toml").read_text(), re.MULTILINE)
        assert named == f"{mounts['key']}/identity.pem"


def test_files_of_the_party_and_the_job_are_in_volumes(resources: list[Resource]) -> None:
    text = (KUBERNETES / "party.toml").read_text() + (KUBERNETES / "job.toml").read_text()
    named = re.findall(r'"(/[^"]+)"', text)
    assert len(named) == 4
    container = job_container(resources, "coordinator")
    folders = [mount["mountPath"] for mount in container["volumeMounts"]]
    assert all(any(f"{path}/".startswith(f"{folder}/") for folder in folders) for path in named)


def test_each_value_is_used(tmp_path: Path) -> None:
    changes = {
        "IMAGE": "elsewhere/cenote:7",
        "WORKERS": "77",
        "WORKER_CORES": "7",
        "WORKER_MEMORY": "71Gi",
        "COORDINATOR_CORES": "8",
        "COORDINATOR_MEMORY": "72Gi",
        "STORAGE_CLASS": "other",
        "SHARDS_SIZE": "73Gi",
        "TABLES_SIZE": "74Gi",
        "PEERS_SERVICE": "ClusterIP",
    }
    text = (KUBERNETES / "values.env").read_text()
    assert re.findall("^([A-Z_]+)=", text, re.MULTILINE) == list(changes)
    copy = changed(tmp_path, "values.env")
    (copy / "values.env").write_text("".join(f"{key}={value}\n" for key, value in changes.items()))
    resources = put_together(copy)
    images = {container["image"] for _, _, pod in pods(resources) for container in containers(pod)}
    assert images == {"elsewhere/cenote:7"}
    workers = find(resources, "Job", "workers")["spec"]
    assert (workers["completions"], workers["parallelism"]) == (77, 77)
    assert job_container(resources, "workers")["resources"]["requests"] == {"cpu": "7", "memory": "71Gi"}
    assert job_container(resources, "coordinator")["resources"]["requests"] == {"cpu": "8", "memory": "72Gi"}
    claims = {each["metadata"]["name"]: each["spec"] for each in resources if each["kind"] == "PersistentVolumeClaim"}
    assert {claim["storageClassName"] for claim in claims.values()} == {"other"}
    assert claims["shards"]["resources"]["requests"]["storage"] == "73Gi"
    assert claims["tables"]["resources"]["requests"]["storage"] == "74Gi"
    assert find(resources, "Service", "peers")["spec"]["type"] == "ClusterIP"
    assert not any(each["kind"] == "ConfigMap" and each["metadata"]["name"] == "values" for each in resources)


def test_steps_of_the_document_find_what_they_start(resources: list[Resource]) -> None:
    text = DOCUMENTS[0].read_text()
    used = set(re.findall(r"app\.kubernetes\.io/component=([a-z]+)", text))
    labels = [each["metadata"]["labels"]["app.kubernetes.io/component"] for each in resources if has_label(each)]
    assert used == set(labels)
    assert len(labels) == len([each for each in resources if each["kind"] != "ConfigMap"]) + (
        1 if has_label(find(resources, "ConfigMap", "job")) else 0
    )


def has_label(resource: Resource) -> bool:
    return "app.kubernetes.io/component" in resource["metadata"].get("labels", {})


# Commands


def commands_of(path: Path) -> list[list[str]]:
    """Give the commands of cenote in a document, in blocks of code and in lines of text, or in a script."""
    text = path.read_text().replace("\\\n", " ")
    if path.suffix == ".md":
        blocks = re.findall(r"^ *```[a-z]*\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL)
        rest = re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)
        lines = [*"\n".join(blocks).splitlines(), *re.findall("`([^`\n]+)`", rest)]
    else:
        lines = [line for line in text.splitlines() if not line.startswith("#")]
    found = []
    for line in lines:
        words = shlex.split(line, comments=True) if "cenote" in line else []
        words = words[1:] if words[:1] == ["exec"] else words
        words = words[1:] if words[:1] == ["srun"] else words
        if words[:1] == ["cenote"] and len(words) > 1:
            found.append(words[: words.index("||")] if "||" in words else words)
    return found


def complaints(program: Path, words: list[str]) -> list[str]:
    """Compare a command with what the program says that it takes. In a text it may lack arguments."""
    name, rest = [words[1]], words[2:]
    help_text = help_of(program, name)
    if rest and re.search(rf"^  {re.escape(rest[0])} +", help_text.partition("Commands:")[2], re.MULTILINE):
        name.append(rest.pop(0))
        help_text = help_of(program, name)
    if "Usage:" not in help_text:
        return [f"there is no command {' '.join(words)}"]
    options = dict(re.findall(r"^ +(?:-\w, )?(--[a-z-]+)(?:\.\.\.)?(?: (<[^>]+>))?", help_text, re.MULTILINE))
    found, arguments = [], 0
    while rest:
        word = rest.pop(0)
        if not word.startswith("-"):
            arguments += word != "…"
        elif word not in options:
            found.append(f"`cenote {' '.join(name)}` has no option {word}")
        elif options[word] and (not rest or rest.pop(0).startswith("-")):
            found.append(f"{word} of `cenote {' '.join(name)}` has no value")
    usage = help_text.partition("Usage:")[2].splitlines()[0]
    most = len(re.findall(r"(?<![a-z] )[<[][A-Z_]+[>\]]", usage.replace("[OPTIONS]", "").replace("<COMMAND>", "")))
    if arguments > most:
        found.append(f"`cenote {' '.join(name)}` has at most {most} arguments: {words}")
    return found


def help_of(program: Path, name: list[str]) -> str:
    done = subprocess.run([program, *name, "--help"], capture_output=True, text=True, check=False, timeout=60)
    return done.stdout if done.returncode == 0 else ""


def test_commands_of_manifests_scripts_and_documents_are_right(resources: list[Resource]) -> None:
    cenote = program()
    of_manifests = [job_container(resources, name)["command"] for name in ("coordinator", "workers")]
    of_scripts = [commands_of(path) for path in sorted(SLURM.glob("*.sbatch"))]
    assert [len(commands) for commands in of_scripts] == [1, 1]
    of_documents = [commands_of(path) for path in DOCUMENTS]
    assert all(of_documents)
    for words in [*of_manifests, *(words for each in of_scripts + of_documents for words in each)]:
        assert complaints(cenote, words) == [], words


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("cenote shards job.toml", "no command"),
        ("cenote shard job.toml --coordinate a:1", "no option --coordinate"),
        ("cenote shard job.toml --config", "no value"),
        ("cenote shard job.toml other.toml", "at most 1"),
        ("cenote identity make", "no command|at most 0"),
    ],
)
def test_a_wrong_command_is_noticed(command: str, complaint: str) -> None:
    found = complaints(program(), shlex.split(command))
    assert re.search(complaint, " ".join(found)), found


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        assert isinstance(port, int)
        return port


def party_folder(cenote: Path, folder: Path, me: int) -> str:
    """Make what a party's pods have, under `folder`. Gives the fingerprint."""
    for name in FOLDERS:
        (folder / name[1:]).mkdir(parents=True)
    (folder / "srv/cenote/tables").mkdir()
    (folder / "srv/cenote/answer").mkdir()
    key = folder / "run/cenote/identity.pem"
    subprocess.run([cenote, "identity", "new", "--file", key], check=True, capture_output=True)
    shown = subprocess.run([cenote, "identity", "show", "--file", key], check=True, capture_output=True, text=True)
    name = ["people", "loans", "cards"][me]
    shutil.copy(CHECKOUT / "examples" / "loans" / f"{name}.csv", folder / "srv/cenote/tables")
    job = (KUBERNETES / "job.toml").read_text()
    job = re.sub(r'^file = "/srv/cenote/tables/.*\n', "", job, flags=re.MULTILINE)
    job = job.replace(f"party = {me}\n", f'party = {me}\nfile = "/srv/cenote/tables/{name}.csv"\n')
    (folder / "etc/cenote/job.toml").write_text(within(folder, job))
    (fingerprint,) = re.findall("[0-9a-f]{64}", shown.stdout)
    assert isinstance(fingerprint, str)
    return fingerprint


def within(folder: Path, text: str) -> str:
    return re.sub("|".join(FOLDERS), lambda found: f"{folder}{found[0]}", text)


def test_the_commands_of_the_manifests_compute_the_answer(tmp_path: Path) -> None:
    cenote = program()
    resources = as_written()
    parties = [tmp_path / str(party) for party in range(3)]
    prints = [party_folder(cenote, folder, me) for me, folder in enumerate(parties)]
    ports = [free_port() for _ in parties]
    running = []
    for me, folder in enumerate(parties):
        text = (KUBERNETES / "party.toml").read_text()
        text = text[: text.index("[[peer]]")].replace("party = 0", f"party = {me}").replace(":7100", f":{ports[me]}")
        for peer in set(range(3)) - {me}:
            address = f'address = "127.0.0.1:{ports[peer]}"\n' if peer < me else ""
            text += f'[[peer]]\nparty = {peer}\nfingerprint = "{prints[peer]}"\n{address}'
        (folder / "etc/cenote/party.toml").write_text(within(folder, text.replace("0.0.0.0", "127.0.0.1")))
        desk = f"127.0.0.1:{free_port()}"
        for name in ("coordinator", "workers"):
            command: list[str] = list(job_container(resources, name)["command"])
            other = {"--coordinate": desk, "--coordinator": desk, "--listen": "127.0.0.1:0", "--host": "127.0.0.1"}
            for at, word in enumerate(command[:-1]):
                if word in other:
                    command[at + 1] = other[word]
            command = [str(cenote), *(within(folder, word) for word in command[1:])]
            pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
            running.append(subprocess.Popen(command, **pipes))  # type: ignore[call-overload]
    try:
        outputs = [process.communicate(timeout=120)[0] for process in running]
    finally:
        for process in running:
            process.kill()
    assert [process.returncode for process in running] == [0] * 6, outputs
    answer = (parties[0] / "srv/cenote/answer/answer.csv").read_text().splitlines()
    assert answer[0] == "region,loans,owed"
    assert sorted(answer[1:]) == ["N,3,97500.50", "S,4,228600.00", "W,5,327400.75"]
    done = [line for output in outputs for line in output.splitlines() if re.fullmatch(r"shard \d \(.*\): done", line)]
    assert len(done) == 3 * 4, outputs


# Slurm


@pytest.mark.parametrize("path", sorted(SLURM.glob("*.sbatch")), ids=lambda path: path.name)
def test_scripts_are_of_bash(path: Path) -> None:
    done = subprocess.run(["bash", "-n", path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    # After the first command, Slurm takes no more options from a script.
    head, _, rest = path.read_text().partition("\nset ")
    assert head.count("\n#SBATCH --") == 8
    assert "#SBATCH" not in rest


def scripted(folder: Path, name: str, arguments: list[str], code: int, **more: str) -> tuple[int, list[str]]:
    """Run a script, with programs in the place of Slurm's and Cenote's. Gives its exit code and what it called."""
    calls = folder / "calls"
    calls.write_text("")
    for tool, ends in [("cenote", code), ("scancel", 0), ("sleep", 0)]:
        (folder / tool).write_text(f'#!/bin/bash\necho "{tool} $*" >>"{calls}"\nexit {ends}\n')
        (folder / tool).chmod(0o755)
    (folder / "srun").write_text('#!/bin/bash\n"$@"\n')
    (folder / "srun").chmod(0o755)
    environment = {"PATH": f"{folder}:/usr/bin:/bin", "SLURM_ARRAY_JOB_ID": "17", "SLURM_ARRAY_TASK_ID": "3", **more}
    done = subprocess.run(["bash", SLURM / name, *arguments], env=environment, check=False, capture_output=True)
    return done.returncode, calls.read_text().splitlines()


WORKER = ["m1:7150", "party.toml", "job.toml"]


@pytest.mark.parametrize(
    ("code", "tries", "cancelled"), [(0, 1, False), (3, 3, False), (4, 1, True), (6, 1, True), (5, 1, False)]
)
def test_a_worker_is_tried_again_only_after_a_loss(tmp_path: Path, code: int, tries: int, cancelled: bool) -> None:
    ended, calls = scripted(tmp_path, "workers.sbatch", WORKER, code)
    assert ended == code
    assert len([call for call in calls if call.startswith("cenote shard job.toml --config party.toml")]) == tries
    assert ("scancel 17" in calls) == cancelled


def test_scripts_pass_on_what_they_are_given(tmp_path: Path) -> None:
    _, calls = scripted(tmp_path, "workers.sbatch", WORKER, 0, FIRST_PORT="7200")
    assert "--coordinator m1:7150 --listen 0.0.0.0:7203 --host " in calls[0]
    assert not calls[0].endswith("--host ")
    _, calls = scripted(tmp_path, "workers.sbatch", WORKER, 0)
    assert " --listen 0.0.0.0:0 " in calls[0]
    ended, calls = scripted(tmp_path, "coordinator.sbatch", WORKER[1:], 6)
    assert calls == ["cenote party job.toml --config party.toml --coordinate 0.0.0.0:7150"]
    assert ended == 6
    for name in ("workers.sbatch", "coordinator.sbatch"):
        assert scripted(tmp_path, name, ["party.toml"], 0) == (2, [])
