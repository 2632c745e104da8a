"""docs/api: the examples are what the description says, by a whole JSON Schema (tests/unit/schema/t_openapi.c has a small one)."""

import json

import jsonschema
import pytest
import yaml

from cluster import ROOT

FOLDER = ROOT / "docs/api"
EXAMPLES = sorted((FOLDER / "examples").iterdir())


def described():
    return yaml.safe_load((FOLDER / "openapi.yaml").read_text())


def schema(name):
    return {"$ref": f"#/components/schemas/{name}", "components": described()["components"]}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example(path):
    jsonschema.Draft202012Validator(schema(path.name.split(".")[1])).validate(json.loads(path.read_text()))


def test_every_schema_is_one():
    for name, one in described()["components"]["schemas"].items():
        jsonschema.Draft202012Validator.check_schema(one)
        assert name[0].isupper()
