"""The OpenAPI document: whether it is one, and whether answers are as it says, whatever is sent (schemathesis).

EXAMPLES is how many requests are made up for each address; SEED another number makes up others.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
EXAMPLES = os.environ.get("EXAMPLES", "20")
SEED = os.environ.get("SEED", "1")


def test_the_document_is_openapi(client):
    validator = pytest.importorskip("openapi_spec_validator", reason="pip install openapi-spec-validator")
    document = client.get("/api/openapi.json").json()
    assert document["openapi"].startswith("3.1.")
    validator.validate(document)
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert {"400", "401", "403", "500"} <= set(operation["responses"]), f"{method} {path}"
            assert all(response["description"] for response in operation["responses"].values()), f"{method} {path}"


@pytest.mark.parametrize(
    ("config", "phases"),
    [("any_names.toml", "examples,coverage,fuzzing,stateful"), ("known_names.toml", "examples,coverage,fuzzing")],
)
def test_answers_are_as_the_document_says(url, tmp_path, config, phases):
    pytest.importorskip("schemathesis", reason="pip install schemathesis")
    program = "import sys; from schemathesis.cli import schemathesis; sys.exit(schemathesis())"
    command = [sys.executable, "-c", program, "--config-file", str(HERE / config), "run", f"{url}/api/openapi.json"]
    # Nothing is gone after a DELETE: a run that is stopped keeps its record and its events.
    command += ["--checks", "all", "--exclude-checks", "use_after_free", "--phases", phases, "--max-examples", EXAMPLES, "--seed", SEED, "--request-timeout", "30"]
    command += ["--no-color", "--continue-on-failure"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stdout + ended.stderr
