"""What `mobula egress` prints is taken by those it is for: the API server, nft, Squid; and Squid lets through what the list holds."""

import json
import shutil
import socket
import subprocess
import time

import pytest

from cluster import kubectl, mobula

ENTRIES = "a.example.com,*.wild.example.com,registry-*.pre.example.com,127.0.0.0/8:9,[fd00::/8]:8443,b.example.com:8443"
FLAGS = ("--api-server", "10.0.0.1", "--api-server", "10.224.0.4:6443", "--egress-allow", ENTRIES)
PROFILE = ("--profile", "anyscale-azure,anyscale", "--cloud-id", "cld_1,cld_2")


def egress(form, *flags):
    out = mobula("egress", "--format", form, *FLAGS, *flags)
    assert out.returncode == 0, out.stderr
    return out.stdout


def tool(name):
    """Where it is; Debian keeps these two where only root's PATH looks."""
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin")
    return found or pytest.skip(f"{name} is not installed")


@pytest.mark.parametrize("flags", [(), PROFILE, ("--all-namespaces",), ("--ray-access=proxy",)], ids=" ".join)
def test_the_server_takes_the_network_policy(space, flags):
    policy = egress("networkpolicy", "--namespace", space.name, "--watch-namespace", f"{space.name},other", *flags)
    out = kubectl("apply", "--server-side", "--validate=strict", "--dry-run=server", "-o", "json", "-f", "-", stdin=policy)
    assert "Warning" not in out.stderr, out.stderr
    spec = json.loads(out.stdout)["spec"]
    blocks = {to["ipBlock"]["cidr"]: rule["ports"] for rule in spec["egress"] for to in rule["to"] if "ipBlock" in to}
    assert set(blocks) == {"10.0.0.1/32", "10.224.0.4/32", "127.0.0.0/8", "fd00::/8"}
    assert blocks["fd00::/8"] == [{"protocol": "TCP", "port": 8443}] and spec["policyTypes"] == ["Egress"]
    assert all(rule.get("to") and rule.get("ports") for rule in spec["egress"]), "a rule that holds everything"


def test_the_network_policy_chooses_the_operator(space):
    kubectl("apply", "-f", "-", stdin=egress("networkpolicy", "--namespace", space.name))
    made = space.api.get(space.path("networkpolicies", "mobula-egress", "/apis/networking.k8s.io/v1"))
    install = mobula("install", "--print", "--no-crds", "--namespace", space.name).stdout
    deployment = json.loads(kubectl("create", "--dry-run=client", "-o", "json", "-f", "-", stdin=next(
        d for d in install.split("\n---\n") if "\nkind: Deployment\n" in d)).stdout)
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert made["spec"]["podSelector"]["matchLabels"].items() <= labels.items()


def test_the_policy_for_cilium():
    """Read by kubectl, which has no such kind; each name may be asked of DNS, and no other."""
    policy = json.loads(kubectl("label", "--local", "-o", "json", "-f", "-", "a=b", stdin=egress("cilium", *PROFILE)).stdout)
    rules = policy["spec"]["egress"]
    names = [n for r in rules for n in r.get("toFQDNs", [])]
    dns = [r["toPorts"][0]["rules"]["dns"] for r in rules if "rules" in r.get("toPorts", [{}])[0]]
    assert dns == [names] and {"matchName": "a.example.com"} in names and {"matchPattern": "*.wild.example.com"} in names
    assert {"toEntities": ["kube-apiserver"]} in rules and all(len(r) == 2 for r in rules if "toEntities" not in r)


def test_the_template_for_azure():
    template = json.loads(egress("azure-firewall", *PROFILE, "--source", "10.224.0.0/16"))
    rules = [r for c in template["resources"][0]["properties"]["ruleCollections"] for r in c["rules"]]
    assert len({r["name"] for r in rules}) == len(rules)
    assert all(r["sourceAddresses"] == ["10.224.0.0/16"] for r in rules)
    names = {n for r in rules for n in r.get("targetFqdns", [])}
    assert {"console.azure.anyscale.com", "cld-1.azure.anyscale-cloud.dev", "grafana-cld-2.anyscale-cloud.dev"} <= names
    assert all(n.rfind("*") <= 0 for n in names), "a star that is not first"


@pytest.mark.parametrize("flags", [(), ("--source", "10.0.0.0/8,10.1.0.0/16,fd00::/8")], ids=" ".join)
def test_nft_takes_its_rules(flags):
    command = ["unshare", "-rn", tool("nft"), "-c", "-f", "-"]
    out = subprocess.run(command, input=egress("nftables", *PROFILE, *flags), capture_output=True, text=True, timeout=60, check=False)
    assert out.returncode == 0, out.stderr


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@pytest.fixture
def squid(tmp_path):
    """A Squid with these lines; it knows no name server, so what it lets through fails with 5xx."""
    port, conf, log = free_port(), tmp_path / "squid.conf", tmp_path / "cache.log"
    own = f"""
http_port 127.0.0.1:{port}
pid_filename {tmp_path}/pid
cache_log {log}
access_log none
cache_effective_user nobody
dns_nameservers 127.0.0.1
dns_timeout 1 second
connect_timeout 1 second
forward_timeout 2 seconds
shutdown_lifetime 0 seconds
http_access deny all
"""
    conf.write_text(egress("squid", "--source", "127.0.0.0/8") + own)
    tmp_path.chmod(0o777)
    log.touch(mode=0o666)
    parse = subprocess.run([tool("squid"), "-k", "parse", "-f", conf], capture_output=True, text=True, timeout=60, check=False)
    assert parse.returncode == 0 and "ERROR" not in parse.stderr and "WARNING" not in parse.stderr, parse.stderr
    process = subprocess.Popen([tool("squid"), "-N", "-f", conf], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    yield port
    process.terminate()
    process.wait(timeout=60)


def connect(port, host):
    """The status of CONNECT."""
    for _ in range(300):
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=30) as s:
                s.sendall(f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
                return int(s.recv(4096).split()[1])
        except ConnectionRefusedError:
            time.sleep(0.1)
    raise AssertionError("squid does not listen")


HELD = ["a.example.com:443", "A.Example.com:443", "x.wild.example.com:443", "registry-cld-1.pre.example.com:443", "b.example.com:8443",
        "127.0.0.1:9"]
REFUSED = ["a.example.com:8443", "x.a.example.com:443", "example.com:443", "wild.example.com:443", "a.b.wild.example.com:443",
           "registry-.pre.example.com:443", "registry.pre.example.com:443", "x-registry-a.pre.example.com:443",
           "registry-a.pre.example.com.evil.org:443", "x.wildxexample.com:443", "b.example.com:443", "127.0.0.1:443", "10.0.0.2:443"]


def test_squid_holds_what_the_list_holds(squid):
    """The same hosts as in the operator's own test of its list (tests/unit/net/t_allow.c)."""
    assert [h for h in HELD if connect(squid, h) == 403] == []
    assert [h for h in REFUSED if connect(squid, h) != 403] == []


def test_the_operator_refuses_wrong_entries():
    for flags, words in [(("--egress-allow=*.example.com", "--egress-strict"), "strict mode"), (("--egress-allow=a..b",), '"a..b"')]:
        out = mobula("operator", "--kubeconfig", "/dev/null", *flags)
        assert out.returncode == 2 and "--egress-allow" in out.stderr and words in out.stderr, out.stderr


def test_an_operator_with_entries_works(space, operators):
    operators("--egress-allow", ENTRIES)
    space.apply({"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "c"}, "spec": {"headGroupSpec": {
        "rayStartParams": {}, "template": {"spec": {"containers": [{"name": "h", "image": "i"}]}}}}})
    space.ready("c", 1)
