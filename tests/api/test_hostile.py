"""Requests that nobody means well by, and records that anybody may have edited: answered harmlessly, whatever they hold."""

import http.client
import json
import re
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
import requests
import served
from conftest import Client

HEADERS = {"x-content-type-options": "nosniff", "x-frame-options": "DENY", "referrer-policy": "no-referrer", "cache-control": "no-store"}
NASTY = [
    "..", "../..", "..%2f..%2fevalrs.toml", "%2e%2e%2fevalrs.toml", "/etc/passwd", "%2fetc%2fpasswd", "..%5c..", "C:%5cWindows", "a%00b", "%00",
    "%ff%fe", "%", "%zz", "x" * 5_000, "%F0%9F%92%A9" * 200, "a%0d%0aSet-Cookie:%20x=1", "~", "-", "--help", "*", "latest%00", "latest/../latest", ".evalrs",
    "%3Cscript%3Ealert(1)%3C%2fscript%3E", "%E2%80%AEtxt.exe",
]
SCRIPT = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
TEXTS = [SCRIPT, "\u202e right to left \u2066", "\x1b[31mred\x1b[0m\x1b]0;title\x07", "\x00\x01\x7f\x9b", "=cmd|' /C calc'!A0", "]]>&lt;", "\ufffe\uffff", "```\n## x\n::error::y"]
#: All but tabs and ends of lines that a terminal could obey.
CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f]")
#: Those that no format allows as they are: programs read the others, and no terminal.
FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")


def checked(reply, *allowed):
    """Checks what holds for every answer."""
    assert reply.status_code in allowed, (reply.status_code, reply.url[:200], reply.text[:500])
    for name, value in HEADERS.items():
        assert reply.headers[name] == value, (name, reply.url[:200])
    policy = reply.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy
    assert not any(name.startswith("access-control") or name == "set-cookie" for name in map(str.lower, reply.headers))
    if "/api/" in urlsplit(reply.url).path and "report." not in reply.url and reply.status_code != 204:
        assert reply.headers["content-type"] in ("application/json", "text/event-stream"), reply.url
    return reply


class RawReply:
    """An answer to an address that was sent as it is: `requests` makes other addresses of some."""

    def __init__(self, url, method, path, body=None):
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
        connection.putrequest(method, path.replace(" ", "%20"))
        text = b"" if body is None else json.dumps(body).encode()
        connection.putheader("content-type", "application/json")
        connection.putheader("content-length", str(len(text)))
        connection.endheaders(text)
        reply = connection.getresponse()
        self.url, self.status_code, self.text = url + path, reply.status, reply.read().decode()
        self.headers = {name.lower(): value for name, value in reply.getheaders()}
        connection.close()


@pytest.mark.parametrize("name", NASTY)
def test_names_lead_nowhere_else(url, name):
    for place in [
        f"/api/runs/{name}", f"/api/runs/{name}/samples", f"/api/runs/{name}/events", f"/api/runs/latest/samples/{name}", f"/api/suites/{name}",
        f"/api/graders/{name}", f"/api/runs/{name}/report.json", f"/api/diff?old={name}&new={name}", f"/api/history?suite={name}",
        f"/api/runs?suite={name}",
    ]:
        reply = checked(RawReply(url, "GET", place), 200, 400, 404)
        assert "root:" not in reply.text and "name: shop" not in reply.text
    for method, place in [("PUT", f"/api/suites/shop/labels/{name}"), ("PUT", f"/api/suites/{name}/labels/paris"), ("DELETE", f"/api/runs/{name}")]:
        checked(RawReply(url, method, place, {"label": True}), 400, 404, 405)


def test_bodies_that_are_none(client):
    deep = "[" * 100_000 + "]" * 100_000
    bodies = [
        b"", b"{", b"\xff\xfe", b"null", b"[]", b'"x"', deep.encode(), b'{"suite": "\\ud800"}', b'{"suite": 1e999}', b'{"suite": "shop", "suite": "shop"}',
        b'{"grader": "string-match", "submission": "\\u0000\\udfff"}', b'{"label": 1e999}', b'{"label": NaN}', b'{"label": [[[[]]]]}',
        ('{"grader": "string-match", "submission": "x", "row": {"a": ' + "[" * 120 + "]" * 120 + "}}").encode(),
        ('{"grader": "string-match", "submission": "x", "input": ' + '{"a":' * 124 + "1" + "}" * 125).encode(),
    ]
    for body in bodies:
        for method, place in [("POST", "/api/runs"), ("POST", "/api/grade"), ("PUT", "/api/suites/shop/labels/paris")]:
            reply = client.request(method, place, data=body, headers={"content-type": "application/json"})
            checked(reply, 200, 400, 404, 422)
        checked(client.post("/api/grade", data=body, headers={"content-type": "text/plain"}), 400)
    checked(client.post("/api/grade", data=b'"' + b"x" * (3 << 20), headers={"content-type": "application/json"}), 413)


def test_a_refusal_keeps_the_connection(url):
    place = urlsplit(url)
    foreign = "origin: http://evil.example\r\n"
    with socket.create_connection((place.hostname, place.port), timeout=10) as connection:
        for more, status in [("", b"400"), (foreign, b"403"), ("", b"400"), (foreign, b"403")]:
            head = f"POST /api/grade HTTP/1.1\r\nhost: {place.netloc}\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n{more}\r\n"
            connection.sendall(head.encode())
            # The body comes in a packet of its own, when the server may have answered already.
            connection.sendall(b"[]")
            assert connection.recv(65536).split()[1] == status


def test_others_are_refused(client):
    for host in ["evil.example", "127.0.0.1", "127.0.0.1:1", "", "localhost.evil.example", "[::1"]:
        checked(client.get("/api/runs", headers={"host": host}), 400, 403)
    for origin in ["http://evil.example", "null", "file://", "http://localhost:1"]:
        for method, place in [("POST", "/api/runs"), ("POST", "/api/grade"), ("PUT", "/api/suites/shop/labels/paris"), ("DELETE", "/api/runs/latest")]:
            checked(client.request(method, place, json={}, headers={"origin": origin}), 403)


def exchange(url, request):
    """What a server says to bytes."""
    place = urlsplit(url)
    with socket.create_connection((place.hostname, place.port), timeout=10) as connection:
        connection.sendall(request)
        said = b""
        while part := connection.recv(65536):
            said += part
        return said


def test_requests_that_are_none(url):
    host = urlsplit(url).netloc.encode()
    for request in [
        b"GARBAGE\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /\x00 HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/1.1\r\nhost: " + host + b"\r\nx: \x00\r\n\r\n",
        b"POST /api/grade HTTP/1.1\r\nhost: " + host + b"\r\ncontent-length: -1\r\n\r\n",
        b"GET /" + b"a" * 1_000_000 + b" HTTP/1.1\r\nhost: " + host + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: " + host + b"\r\n" + b"a: b\r\n" * 5_000 + b"\r\n",
    ]:
        try:
            said = exchange(url, request)
        except (ConnectionResetError, BrokenPipeError):
            continue
        assert said == b"" or re.match(rb"HTTP/1\.[01] 4", said), said[:200]
    assert requests.get(f"{url}/healthz", timeout=10).text == "ok"


def line(number, text):
    """A result all of whose texts are the same."""
    return {
        "format": 1, "sample_id": f"{number} {text[:40]}", "input": text, "ground_truth": text, "model": text, "trial": 0, "submissions": {"right": text, "short": text},
        "grades": {"right": {"score": 0.0, "pass": False, "rationale": text, "error": None, "key": None, "metadata": {text: text}}, "short": {"score": 0.0, "pass": False, "rationale": text, "key": None, "metadata": {}, "error": {"kind": text, "message": text}}},
    }


def hostile(folder):
    """Damages the record of the newest run; says each damage, once it is done."""
    record = folder / ".evalrs/runs" / (folder / ".evalrs/latest").read_text().strip()
    files = {name: (record / name).read_text() for name in ["header.json", "results.jsonl", "summary.json", "run.json"]}
    results = [json.loads(each) for each in files["results.jsonl"].splitlines()]

    def write(**changed):
        for name, text in files.items():
            data = changed.get(name.split(".")[0], text)
            (record / name).write_bytes(data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass"))

    texts = "\n".join(json.dumps(line(number, text)) for number, text in enumerate(TEXTS))
    header, summary = json.loads(files["header.json"]), json.loads(files["summary.json"])
    header["settings"]["graders"][0].update(prompt=SCRIPT, model=TEXTS[2], scale=["x", None], pass_threshold="high")
    summary["labels"] = {"right": SCRIPT}
    for name, changed in {
        "texts": {"results": texts, "header": json.dumps(header), "summary": json.dumps(summary)},
        "a long rationale": {"results": json.dumps(line(0, "\x1b[2J<b>" * 150_000))},
        "lone surrogates": {"results": files["results.jsonl"].replace("Paris", "\\ud800"), "summary": files["summary.json"].replace("right", "\\udfff")},
        "bytes": {"results": bytes(range(256)) * 50, "summary": b"\xff\xfe\x00", "run": b"\x00" * 100},
        "cut lines": {"results": files["results.jsonl"][:-200], "summary": files["summary.json"][:-40], "run": files["run.json"][:30]},
        "no lines": {"results": ""},
        "empty files": {"results": "", "summary": "", "run": "", "header": ""},
        "huge numbers": {"results": re.sub(r'("score"|"trial"):[0-9.]+', r"\1:1e308", files["results.jsonl"]), "summary": re.sub(r"[0-9]+\.[0-9]+", "1e308", files["summary.json"])},
        "whole numbers": {"results": re.sub(r'"trial":\d+', '"trial":4294967295', files["results.jsonl"]), "run": re.sub(r":\s*\d+", ": 18446744073709551615", files["run.json"])},
        "negative": {"results": re.sub(r'"score":[0-9.]+', '"score":-5.0', files["results.jsonl"]), "summary": re.sub(r":\s*[0-9.]+", ": -1", files["summary.json"])},
        "deep": {"results": '{"format":1,"sample_id":"x","input":' + "[" * 10_000 + "]" * 10_000 + "}", "summary": "[" * 100_000},
        **{f"{part} as {other}": {part: json.dumps(json.loads(other))} for part in ["header", "summary", "run"] for other in ["[]", "7", "null", '{"format": 1, "suite": "shop"}', '{"format": 1, "suite": "shop", "settings": {"graders": [{"name": "right"}, {"name": "right"}, 3]}}']},
        **{f"{member} as {other}": {"results": "\n".join(json.dumps({**each, member: json.loads(other)}) for each in results)} for member in ["sample_id", "input", "model", "trial", "submissions", "grades", "ground_truth"] for other in ["[]", "7", "null", '{"right": 7}', '{"right": {"score": "x", "pass": 3, "rationale": [], "error": "no", "metadata": [1]}}', '"\\u001b[31m"']},
        **{f"{member} as {other} in format 2": {"results": "\n".join(json.dumps({**each, "format": 2, "submission": "It is Paris.", "submissions": {"other": "x"}, member: json.loads(other)}) for each in results)} for member in ["submission", "submissions", "format"] for other in ["[]", "7", "null", '{"right": 7}', '"x"']},
        **{f"summary {member} as {other}": {"summary": json.dumps({**summary, member: json.loads(other)})} for member in summary for other in ["[]", "7", "null", '"x"', '{"right": 7}', '{"right": {"n": "x", "avg_score_attempted": []}}']},
    }.items():
        write(**changed)
        yield name
    write()


def check_pages(client):
    """Asks for everything that is made of a record."""
    for place in ["/api/runs", "/api/runs/latest", "/api/runs/latest/samples?q=a", "/api/suites", "/api/history?suite=shop", "/api/diff?old=latest&new=latest"]:
        checked(client.get(place), 200, 404)
    rows = checked(client.get("/api/runs/latest/samples"), 200, 404).json()["data"] or {"samples": []}
    for row in rows["samples"][:8]:
        where = f"/api/runs/latest/samples/{quote(row['sample_id'], safe='')}"
        case = checked(client.get(where, params={"trial": row["trial"]}), 200, 404).json()["data"]
        # What is nested too deeply is listed and cannot be shown.
        assert case is None or case["sample_id"] == row["sample_id"]
    for end in ["html", "md", "xml", "csv", "json"]:
        checked(client.get(f"/api/runs/latest/report.{end}"), 200, 400, 404, 409, 422)
    if rows["samples"]:
        checked(client.put("/api/suites/shop/labels/paris", json={"label": True}), 200, 404)


@pytest.fixture(scope="module")
def space():
    """A workspace whose record is damaged."""
    if served.GIVEN:
        pytest.skip("needs a workspace of its own")
    with served.workspace() as folder:
        yield folder


def test_edited_records_over_the_api(space):
    with served.serving(space) as url, Client(url) as client:
        for _ in hostile(space):
            check_pages(client)
        checked(client.get("/api/runs/latest"), 200)


def test_edited_records_in_every_format(space):
    formats = ["markdown", "junit", "csv", "json", "jsonl", "github", "otlp", "html", "text"]

    def report(format):
        command = [served.BINARY, "report", "--format", format]
        return format, subprocess.run(command, cwd=space, capture_output=True, timeout=60)

    with ThreadPoolExecutor(4) as pool:
        for name in hostile(space):
            for format, ended in pool.map(report, formats):
                said = ended.stderr.decode()
                assert ended.returncode in (0, 1, 2, 3) and "panicked" not in said, (name, format, said)
                text = ended.stdout.decode()
                controls = CONTROLS if format in ("text", "markdown", "github") else FORBIDDEN
                assert not controls.search(text), (name, format, controls.search(text))
                assert not CONTROLS.search(said), (name, format)
                if format in ("html", "junit", "markdown"):
                    # In Markdown what stands in backticks is shown as it is.
                    text = re.sub(r"(`+)[^`]+?\1", "", text) if format == "markdown" else text
                    assert "<script>alert" not in text and "<img src=x" not in text, (name, format)
                if name != "deep" and ended.returncode == 0 and format in ("json", "jsonl", "otlp"):
                    for part in [text] if format == "json" else text.splitlines():
                        json.loads(part)
                if format == "csv":
                    assert not re.search(r'(^|,)"?[=+@]', text, re.MULTILINE), (name, text)
