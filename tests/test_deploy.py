"""The files of deploy/ and the Dockerfile: they start what there is, without root, without writing, and without a secret."""

import configparser
import inspect
import json
import re
import shlex
from pathlib import Path

import pytest

from cli.runs import run
from innervoice.cli.serve import command
from innervoice.gateway.config import (
    GatewayConfig,
    NamedModel,
    ServerSettings,
    UpstreamSettings,
    load_config,
)
from innervoice.gateway.endpoints import Endpoint, endpoint_of
from innervoice.gateway.operations.metrics import FAMILIES
from innervoice.gateway.operations.server import serve

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
FILES = [ROOT / "Dockerfile", *sorted(DEPLOY.iterdir())]
STOP_SECONDS = inspect.signature(serve).parameters["stop_seconds"].default
PORT = ServerSettings().port


def loaded(text, tmp_path) -> GatewayConfig:
    file = tmp_path / "gateway.toml"
    file.write_text(text)
    names = re.findall(r"env:(\w+)", text)
    return load_config(file, {name: f"{name}-0123456789-0123456789-0123456789" for name in names})


def check_command(words):
    """Whether these words are a command of ours: unknown options and wrong values raise an error."""
    assert ["innervoice", "serve"] == [Path(words[0]).name, words[1]]
    return command.make_context("serve", list(words[2:])).params


@pytest.mark.parametrize("file", FILES, ids=[file.name for file in FILES])
def test_no_secret_and_no_registry(file):
    text = file.read_text("utf-8")

    assert not re.search(r"sk-|AKIA|AIza|ghp_|-----BEGIN|[A-Za-z0-9+/]{40,}", text)
    assert not re.search(r"pypi|docker\.io|ghcr|quay\.io|gcr\.io|index-url|registry", text)


# ---- the configuration -----------------------------------------------------------------------------


def test_the_configuration_loads(tmp_path):
    config = loaded((DEPLOY / "gateway.toml").read_text("utf-8"), tmp_path)

    assert ("0.0.0.0", PORT) == (config.server.host, config.server.port)
    assert config.server.key
    assert "sqlite:/var/lib/innervoice/gateway.db" == config.server.store
    assert config.keys


def test_the_printed_configuration_has_every_setting_with_its_default(tmp_path):
    """As it is, it changes nothing; without the marks of its comments, every setting of [server] has its default but those that have none."""
    text = run("serve", "--print-config").stdout.decode()
    assert GatewayConfig() == loaded(text, tmp_path)
    settings = {line.split()[1]: line for line in text.splitlines() if re.match(r"# \w+ = ", line)}
    assert {*ServerSettings.__struct_fields__, *UpstreamSettings.__struct_fields__, *NamedModel.__struct_encode_fields__} <= settings.keys()  # fmt: skip
    whole = re.sub(r"(?m)^# (?=\[|\w+ = )", "", text)
    config = loaded(whole, tmp_path)
    without_default = {"key", "store", "other_paths"}
    for name in set(ServerSettings.__struct_fields__) - without_default:
        assert getattr(ServerSettings(), name) == getattr(config.server, name), name
    assert {"sonnet"} == {model.name for model in config.models}
    assert {"openai", "gpu"} == config.upstreams.keys()


# ---- Docker ----------------------------------------------------------------------------------------


@pytest.fixture
def docker():
    """The instructions of the last stage, and all of them."""
    text = (ROOT / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
    lines = [line.split(None, 1) for line in text.splitlines() if line and line[0] not in "# "]
    last = max(number for number, (name, _) in enumerate(lines) if name == "FROM")
    return dict(lines[last:]), lines


def words_of(instruction):
    return re.findall(r'"((?:[^"\\]|\\.)*)"', instruction)


def test_the_image_starts_the_gateway_without_root(docker):
    image, _ = docker
    options = check_command(words_of(image["ENTRYPOINT"]) + words_of(image["CMD"]))

    assert "/etc/innervoice/gateway.toml" == options["file"]
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", image["USER"])
    assert (str(PORT), "SIGTERM") == (image["EXPOSE"], image["STOPSIGNAL"])
    assert ["/tmp", "/var/lib/innervoice"] == image["VOLUME"].split()


def test_the_image_is_made_of_files_that_exist(docker):
    _, lines = docker
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    copied = [word for name, words in lines if name == "COPY" and "--from" not in words for word in words.split()[:-1]]  # fmt: skip

    assert {"LICENSE", "README.md", "pyproject.toml", "src"} == set(copied)
    assert all((ROOT / name).exists() and f"!{name}" in ignored for name in copied)


def test_the_health_check_of_the_image(docker):
    image, _ = docker
    program = words_of(image["HEALTHCHECK"])[-1]
    compile(program, "HEALTHCHECK", "exec")
    port, path = re.search(r"127\.0\.0\.1:(\d+)(/[\w/]+)", program).groups()

    assert str(PORT) == port
    assert "live" == endpoint_of("GET", path, "", {}).verb


# ---- systemd ---------------------------------------------------------------------------------------


@pytest.fixture
def unit():
    parser = configparser.ConfigParser(interpolation=None, delimiters=("=",), comment_prefixes="#")
    parser.optionxform = str
    parser.read(DEPLOY / "innervoice.service", "utf-8")
    return parser


def test_the_unit_starts_the_gateway(unit):
    service = unit["Service"]
    started, checked = (check_command(shlex.split(service[name])) for name in ("ExecStart", "ExecStartPre"))  # fmt: skip

    assert started["file"] == checked["file"]
    assert (False, True) == (started["check"], checked["check"])
    assert "/bin/kill -HUP $MAINPID" == service["ExecReload"]


def test_the_unit_is_locked_up(unit):
    service = unit["Service"]

    assert ("yes", "strict", "yes") == (service["DynamicUser"], service["ProtectSystem"], service["PrivateTmp"])  # fmt: skip
    assert "User" not in service
    assert "Environment" not in service
    assert "innervoice" == service["StateDirectory"]
    assert int(service["TimeoutStopSec"]) > STOP_SECONDS


# ---- Kubernetes ------------------------------------------------------------------------------------


@pytest.fixture
def kubernetes():
    yaml = pytest.importorskip("yaml")
    text = (DEPLOY / "kubernetes.yaml").read_text("utf-8")
    found = {manifest["kind"]: manifest for manifest in yaml.safe_load_all(text)}
    assert {"ConfigMap", "Deployment", "Service", "PodDisruptionBudget"} == set(found)
    return found


def test_pods_start_the_gateway(kubernetes, tmp_path):
    pod = kubernetes["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    options = check_command(["innervoice", "serve", *container["args"]])
    (mounted,) = [mount for mount in container["volumeMounts"] if mount["name"] == "config"]
    (name,) = kubernetes["ConfigMap"]["data"]
    config = loaded(kubernetes["ConfigMap"]["data"][name], tmp_path)

    assert f"{mounted['mountPath']}/{name}" == options["file"]
    assert [PORT] == [port["containerPort"] for port in container["ports"]]
    assert ("0.0.0.0", PORT) == (config.server.host, config.server.port)
    assert config.keys
    assert pod["terminationGracePeriodSeconds"] > STOP_SECONDS + 5


def test_pods_are_locked_up(kubernetes):
    pod = kubernetes["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]

    assert pod["securityContext"]["runAsNonRoot"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert not container["securityContext"]["allowPrivilegeEscalation"]
    assert ["ALL"] == container["securityContext"]["capabilities"]["drop"]
    assert "env" not in container  # secrets come from the secret alone
    assert ["/tmp"] == [mount["mountPath"] for mount in container["volumeMounts"] if not mount.get("readOnly")]  # fmt: skip


def test_probes_ask_for_what_is_served(kubernetes):
    (container,) = kubernetes["Deployment"]["spec"]["template"]["spec"]["containers"]
    probes = [value["httpGet"] for name, value in container.items() if name.endswith("Probe")]

    assert 3 == len(probes)
    for probe in probes:
        assert isinstance(endpoint_of("GET", probe["path"], "", {}), Endpoint)
        assert probe["port"] in [port["name"] for port in container["ports"]]


def test_the_service_leads_to_the_pods(kubernetes):
    service = kubernetes["Service"]["spec"]
    labels = kubernetes["Deployment"]["spec"]["template"]["metadata"]["labels"]

    assert service["selector"].items() <= labels.items()


# ---- nginx -----------------------------------------------------------------------------------------


def test_nginx_buffers_nothing_and_waits_long_enough():
    text = re.sub(r"#.*", "", (DEPLOY / "nginx.conf").read_text("utf-8"))
    directives = dict(re.findall(r"^\s*(\w+)\s+([^;{}]+);", text, re.MULTILINE))

    assert text.count("{") == text.count("}")
    assert ("off", "off") == (directives["proxy_buffering"], directives["gzip"])
    assert ("1.1", "error") == (directives["proxy_http_version"], directives["proxy_next_upstream"])
    assert f"{ServerSettings().total_seconds:g}s" == directives["proxy_read_timeout"]
    assert ("0", "off") == (
        directives["client_max_body_size"],
        directives["proxy_request_buffering"],
    )
    assert {str(PORT)} == set(re.findall(r"server \S+:(\d+);", text))


# ---- Grafana ---------------------------------------------------------------------------------------


def test_every_query_of_the_dashboard_is_about_our_metrics():
    """Each metric and each label exists, and each metric that we have is on the dashboard."""
    dashboard = json.loads((DEPLOY / "grafana.json").read_text("utf-8"))
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    labels = {family.name: set(family.labels) for family in FAMILIES}
    used = set()
    for query in queries:
        for name, inside in re.findall(r"(innervoice_\w+)(?:\{([^}]*)\})?", query):
            family = name.removesuffix("_bucket")
            assert family in labels, query
            used.add(family)
            assert set(re.findall(r"(\w+)=", inside)) <= labels[family], query
        for names in re.findall(r"by \(([^)]*)\)", query):
            families = {
                name.removesuffix("_bucket") for name in re.findall(r"innervoice_\w+", query)
            }
            known = {"le"}.union(*(labels[name] for name in families))
            assert {name.strip() for name in names.split(",")} <= known, query
    assert labels.keys() == used
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in dashboard["panels"]]
    assert len(places) == len(set(places))


def test_the_manifests_are_what_kubernetes_accepts():
    """Against the schemas of the API, in which unknown members are errors."""
    validate = pytest.importorskip("kubernetes_validate")
    yaml = pytest.importorskip("yaml")
    documents = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text("utf-8")))
    assert 4 == len(documents)
    for document in documents:
        validate.validate(document, "1.33", strict=True)
