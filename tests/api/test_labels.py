"""Labels that many give at once, over two servers, and while a server is killed: none is lost, and the file stays whole."""

import json
import random
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests
import served

COUNT = 50


@pytest.fixture
def folder():
    """A workspace of many samples."""
    if served.GIVEN:
        pytest.skip("needs a workspace of its own")
    with served.workspace() as folder:
        rows = [{"id": f"s{at}", "input": "?", "ground_truth": "Paris", "output": "Paris"} for at in range(COUNT)]
        (folder / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        served.run(folder)
        yield folder


def labels(folder):
    """The lines of the file, each of which is whole."""
    text = (folder / "suite.labels.jsonl").read_text()
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def put(url, at, label=True, **more):
    """Labels a sample."""
    return requests.put(f"{url}/api/suites/shop/labels/s{at}", json={"grader": "right", "label": label, **more}, timeout=60)


def test_two_servers_at_once_lose_nothing(folder):
    with served.serving(folder) as one, served.serving(folder) as other, ThreadPoolExecutor(COUNT) as pool:
        replies = pool.map(lambda at: put(one if at % 2 else other, at), range(COUNT))
        assert [reply.status_code for reply in replies] == [200] * COUNT
        assert sorted(line["id"] for line in labels(folder)) == sorted(f"s{at}" for at in range(COUNT))
        agreement = requests.get(f"{one}/api/runs/latest", timeout=60).json()["data"]["agreement"]
        assert agreement["right"]["n"] == COUNT


def test_two_people_at_once_have_a_label_each(folder):
    people = {"ann": True, "bob": False}
    with served.serving(folder, "--labellers") as url, ThreadPoolExecutor(COUNT) as pool:
        jobs = [pool.submit(put, url, at, label, who=who) for at in range(COUNT) for who, label in people.items()]
        assert {job.result().status_code for job in jobs} == {200}
        assert sorted((line["id"], line["who"]) for line in labels(folder)) == sorted((f"s{at}", who) for at in range(COUNT) for who in people)
        found = requests.get(f"{url}/api/runs/latest/samples", params={"state": "disputed", "grader": "right"}, timeout=60).json()["data"]
        assert found["total"] == COUNT


def test_a_server_that_is_killed_leaves_the_file_whole(folder):
    known = set()
    for attempt in range(3):
        with served.serving(folder) as url:
            ended = threading.Event()

            def work(first):
                at = first
                while not ended.is_set():
                    try:
                        if put(url, at % COUNT).status_code == 200:
                            known.add(f"s{at % COUNT}")
                    except requests.RequestException:
                        return
                    at += 4

            threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
            for thread in threads:
                thread.start()
            ended.wait(random.uniform(0.1, 0.4))
        # Killed by now, in the middle of something.
        ended.set()
        for thread in threads:
            thread.join()
        assert known <= {line["id"] for line in labels(folder)}, attempt
    left = [path.name for path in folder.iterdir() if path.name.startswith((".tmp", "suite.labels.jsonl."))]
    assert len(left) <= 3, "a process that is killed leaves at most what it was writing"
