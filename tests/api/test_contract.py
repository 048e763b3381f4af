"""What the contract of grader endpoints says, asked of a server as programs ask it."""

import pytest

STRING_MATCH = {
    "id": "string-match",
    "name": "String Match Grader",
    "description": "Exact or fuzzy string matching with case and whitespace options",
    "type": "string-match",
}
OPTIONS = {
    "case_sensitive": {"type": "boolean", "description": "Whether to perform case-sensitive matching", "default": False},
    "normalize_whitespace": {
        "type": "boolean",
        "description": "Whether to normalize whitespace before matching",
        "default": True,
    },
}


def data(reply):
    """What an answer holds that is one."""
    assert reply.status_code == 200, reply.text
    assert reply.headers["content-type"] == "application/json"
    envelope = reply.json()
    assert list(envelope) == ["success", "data", "error"]
    assert (envelope["success"], envelope["error"]) == (True, None)
    return envelope["data"]


def refusal(reply, status, code):
    """Checks why there is no answer, and says it."""
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/json"
    envelope = reply.json()
    assert list(envelope) == ["success", "data", "error"]
    assert (envelope["success"], envelope["data"], envelope["error"]["code"]) == (False, None, code)
    assert list(envelope["error"]) == ["code", "message"]
    return envelope["error"]["message"]


def test_the_list_begins_with_the_grader_of_the_contract(client):
    found = data(client.get("/api/graders"))
    assert list(found) == ["graders", "count", "total"]
    assert found["graders"][0] == {**STRING_MATCH, "config_schema": {"type": "object", "properties": OPTIONS}}
    ids = [grader["id"] for grader in found["graders"]]
    assert len(ids) == len(set(ids)) == found["count"] <= found["total"]
    for grader in found["graders"]:
        assert list(grader) == ["id", "name", "description", "type", "config_schema"]


def test_a_grader_says_what_its_scores_mean(client):
    schema = {"type": "object", "properties": OPTIONS, "required": []}
    guide = {
        "1.0": "Response exactly matches expected output (within configured options)",
        "0.0": "Response does not match expected output",
    }
    assert data(client.get("/api/graders/string-match")) == {**STRING_MATCH, "config_schema": schema, "scoring_guide": guide}
    for grader in data(client.get("/api/graders?limit=500"))["graders"]:
        shown = data(client.get(f"/api/graders/{grader['id']}"))
        assert {name: shown[name] for name in ("id", "name", "type")} == {name: grader[name] for name in ("id", "name", "type")}


def test_pages_of_the_list(client):
    everything = data(client.get("/api/graders?limit=500"))
    total = everything["total"]
    assert everything["count"] == total > 5
    page = data(client.get("/api/graders?limit=2&skip=3"))
    assert (page["graders"], page["count"], page["total"]) == (everything["graders"][3:5], 2, total)
    beyond = data(client.get(f"/api/graders?skip={total}"))
    assert (beyond["graders"], beyond["count"], beyond["total"]) == ([], 0, total)
    for wrong in ["limit=501", "limit=-1", "skip=-1", "limit=many"]:
        refusal(client.get(f"/api/graders?{wrong}"), 400, "BAD_REQUEST")


def test_no_such_grader(client):
    assert refusal(client.get("/api/graders/nonexistent"), 404, "NOT_FOUND") == "Grader not found"


@pytest.mark.parametrize(
    ("expected", "actual", "config", "passes"),
    [
        ("Paris", "paris", {}, True),
        ("Paris", "paris", {"case_sensitive": False, "normalize_whitespace": True}, True),
        ("Paris", "  paris  \n", {"case_sensitive": False, "normalize_whitespace": True}, True),
        ("Paris", "paris", {"case_sensitive": True, "normalize_whitespace": False}, False),
        ("Paris", "Paris\n", {"normalize_whitespace": False}, False),
        ("Paris", "Rome", {}, False),
    ],
)
def test_the_examples_of_the_contract(client, expected, actual, config, passes):
    body = {"grader": "string-match", "config": config, "submission": actual, "ground_truth": expected}
    grade = data(client.post("/api/grade", json=body))
    assert (grade["score"], grade["pass"], grade["error"]) == (1.0 if passes else 0.0, passes, None)
