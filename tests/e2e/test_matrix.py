"""The roads of an installation by its changes: install --apply, kubectl on both sides, kustomize. The inventory judges each step: all
objects are as `mobula` would write them, and what a road leaves behind is named, and goes with the next upgrade."""

import re

import pytest

from cluster import kubectl, manifests
from test_apply import left_in, made, of_the_cluster, place, run  # noqa: F401 fixtures
from test_half import names

STEPS = (("--replicas=2",), (), ("--shapes", "--kinds=all", "--ray-auth"), (), ("--watch-namespace=TEAM",),
         ("--requests=cpu=20m,memory=16Mi",), ("--no-network-policy",), ())


def by_mobula(text, folder, made, flags):  # noqa: F811
    run("install", "--apply", "--namespace", made, *flags, "--drop-flags")


def by_kubectl(text, folder, made, flags):  # noqa: F811
    kubectl("apply", "-f", "-", stdin=text)


def by_kubectl_on_the_server(text, folder, made, flags):  # noqa: F811
    kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=text)


def by_kustomize(text, folder, made, flags):  # noqa: F811
    (folder / "mobula.yaml").write_text(text)
    (folder / "kustomization.yaml").write_text("resources: [mobula.yaml]\n")
    kubectl("apply", "-k", folder)


def there(made):  # noqa: F811
    found = {(kind.split(".")[0], name) for kind, _, name in (o.partition("/") for o in left_in(made))}
    return {f for f in found if f[0] not in ("pod", "lease")}


@pytest.mark.parametrize("road", [by_mobula, by_kubectl, by_kubectl_on_the_server, by_kustomize])
def test_each_change_by_each_road(made, tmp_path, road):  # noqa: F811
    team = f"{made}-team"
    kubectl("create", "namespace", team)
    try:
        for step in STEPS:
            flags = ("--no-crds", *(f.replace("TEAM", team) for f in step))
            road(manifests("--namespace", made, *flags), tmp_path, made, flags)
            shown, _ = run("upgrade", "--namespace", made, *flags, "--drop-flags", "--dry-run", status=None)
            changed = re.findall(r"^[+-](?![+-]{2} ).*", shown, re.M)  # beside objects that go, and fields that kubectl owns
            assert not changed and "+++ created" not in shown and (shown == "") >= (road is by_mobula), (step, shown)
            if road is by_mobula:
                assert there(made) == names(made, *flags), (step, there(made) ^ names(made, *flags))
            run("upgrade", "--namespace", made, *flags, "--drop-flags")
            assert there(made) == names(made, *flags), (step, there(made) ^ names(made, *flags))
        run("uninstall", "--apply", "--namespace", made)
        assert there(made) == set() and of_the_cluster(made) == set() and left_in(team) == set()
    finally:
        kubectl("delete", "namespace", team, "--wait=false")


def test_kustomize_changes_an_image(made, tmp_path):  # noqa: F811
    """docs/commands.md: images and patches are kustomize's to change, the namespace is mobula's."""
    (tmp_path / "mobula.yaml").write_text(manifests("--no-crds", "--namespace", made))
    (tmp_path / "kustomization.yaml").write_text(
        "resources: [mobula.yaml]\nimages: [{name: localhost/mobula, newName: registry.example/mobula, newTag: '7'}]\n")
    kubectl("apply", "-k", tmp_path)
    run("upgrade", "--no-crds", "--namespace", made, "--image=registry.example/mobula:7", "--dry-run", status=3)  # fields of kubectl
    run("upgrade", "--no-crds", "--namespace", made, "--image=registry.example/mobula:7")
    run("uninstall", "--apply", "--namespace", made)


def test_kustomize_with_another_namespace(made, tmp_path):  # noqa: F811
    """Texts within the manifests keep the namespace that they were printed for: check says so."""
    (tmp_path / "mobula.yaml").write_text(manifests("--no-crds", "--namespace", "elsewhere"))
    (tmp_path / "kustomization.yaml").write_text(f"namespace: {made}\nresources: [mobula.yaml]\n")
    kubectl("apply", "-k", tmp_path)
    said, _ = run("check", "-n", made, "--operator-namespace", made, status=3)
    assert f"the manifests of namespace {made} were printed for namespace elsewhere" in said and f"--namespace={made} prints those" in said
    kubectl("delete", "-k", tmp_path, "--wait=false")
