"""The steps of the GitHub Action: `prepare`, `run` and `comment`. See action.yml; `tests/python/test_action.py` drives them.

evalrs grades, annotates and writes the summary. This decides whether it may make calls, points at edits that left grades without a
judgment, and updates one comment.
"""

import glob
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

#: Finds the comment again. GitHub does not show it.
MARKER = "<!-- evalrs -->"
#: GitHub refuses longer comments.
LONGEST = 65_000
#: Exit codes, the worst last.
RANKS = [0, 3, 4, 1, 130, 2, 101]
#: Judgments are out in a batch: neither passed nor failed.
IN_BATCH = 4


def environment(name):
    return os.environ.get(name, "").strip()


def event():
    path = environment("GITHUB_EVENT_PATH")
    return json.loads(Path(path).read_text(encoding="utf-8")) if path else {}


def may_ask():
    """Whether it may call judges and agents. It never does so for forks and Dependabot, which have no keys."""
    ask = environment("EVALRS_ASK") or "auto"
    if ask not in ("auto", "always", "never"):
        sys.exit(f"::error::`ask` is `{ask}`: it is auto, always or never")
    if ask != "auto":
        return ask == "always"
    pull = event().get("pull_request")
    if environment("GITHUB_ACTOR") == "dependabot[bot]":
        return False
    if pull is None:
        return True
    # A deleted fork has no repository.
    return (pull["head"].get("repo") or {}).get("full_name") == pull["base"]["repo"]["full_name"]


def suites():
    """The suite files that `suites` names."""
    found = []
    for word in environment("EVALRS_SUITES").split() or ["."]:
        folder = word.rstrip("/")
        if os.path.isdir(word):
            paths = sorted(glob.glob(f"{folder}/**/suite.yaml", recursive=True) + glob.glob(f"{folder}/**/*.suite.yaml", recursive=True))
        else:
            paths = sorted(glob.glob(word, recursive=True))
        if not paths:
            sys.exit(f"::error::`{word}` is neither a suite, nor a folder or a pattern of suites")
        found += [os.path.normpath(path) for path in paths]
    return list(dict.fromkeys(found))


def output(name, value):
    """Sets an output for later steps. A value of several lines ends with a word that is not in it."""
    end = hashlib.sha256(value.encode()).hexdigest()
    with open(os.environ["GITHUB_OUTPUT"], "a", encoding="utf-8") as file:
        file.write(f"{name}<<{end}\n{value}\n{end}\n")


def prepare():
    """Sets the outputs: whether it may make calls, and where the stores are."""
    found = suites()
    stores = {}
    for suite in found:
        done = subprocess.run(["evalrs", "cache", "path", suite], stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode == 0:
            stores[f"{done.stdout.strip()}/v1"] = None
    output("stores", "\n".join(stores) or "cache/v1")
    output("name", hashlib.sha256("\n".join(found).encode()).hexdigest()[:16])
    output("asked", str(may_ask()).lower())


def escape(text, of_property=False):
    """A text in a workflow command."""
    text = str(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if of_property else text


def git(*words):
    done = subprocess.run(["git", *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def base():
    """The commit that the change is compared with, fetched where the checkout does not have it."""
    found = event()
    commit = (found.get("pull_request") or {}).get("base", {}).get("sha") or found.get("before") or ""
    if not re.fullmatch(r"[0-9a-f]{40,64}", commit) or set(commit) == {"0"}:
        return None
    if git("cat-file", "-e", f"{commit}^{{commit}}") is None:
        git("fetch", "--quiet", "--depth=1", "origin", commit)
    return commit if git("cat-file", "-e", f"{commit}^{{commit}}") is not None else None


def first_edit(commit, path):
    """The first line of a file that differs from a commit; none where it does not differ."""
    text = git("diff", "--unified=0", "--no-color", "--no-ext-diff", commit, "--", path)
    places = re.findall(r"^@@ -\S+ \+(\d+)", text or "", re.MULTILINE)
    return max(1, int(places[0])) if places else None


def results(record):
    """The results of a record: one file, or several where there are many."""
    for path in sorted((record / "results").glob("*.jsonl")) or [record / "results.jsonl"]:
        with open(path, encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def pending(record):
    """How many grades of each grader have no stored judgment."""
    counts = {}
    for result in results(record):
        for grader, grade in result["grades"].items():
            if (grade["error"] or {}).get("kind") == "not_stored":
                counts[grader] = counts.get(grader, 0) + 1
    return counts


def annotate_edits(suite, record, commit):
    """Annotates edits of the rubric, a row or the suite if judgments are missing."""
    counts = pending(record)
    if not counts or commit is None:
        return
    header = json.loads((record / "header.json").read_text(encoding="utf-8"))
    missing = ", ".join(f"{count} of `{grader}`" for grader, count in counts.items())
    cure = f"run `evalrs run {shlex.quote(suite)}` with an API key, then `evalrs cache export {shlex.quote(suite)}`, and commit the file"
    for name in header["inputs"]:
        path = os.path.normpath(os.path.join(os.path.dirname(suite), name))
        line = first_edit(commit, path)
        if line is not None:
            title = escape(f"{header['suite']}: edited after the last judgment", True)
            print(f"::error file={escape(path, True)},line={line},title={title}::{escape(f'judgments are missing: {missing}')}%0A{escape(cure)}")


def run():
    """Evaluates every suite, and ends as the worst of them."""
    command = ["evalrs", "run", "--format", "github", *shlex.split(environment("EVALRS_ARGUMENTS"))]
    if not may_ask():
        print("::notice::replays stored outcomes and makes no call: a fork, or `ask: never`")
        command.append("--frozen")
    elif environment("EVALRS_MAX_COST"):
        command += ["--max-cost", environment("EVALRS_MAX_COST")]
    home = Path(tempfile.mkdtemp(prefix="evalrs-", dir=environment("RUNNER_TEMP") or None))
    commit, codes, pages = base(), [], []
    for at, suite in enumerate(suites()):
        record = home / str(at)
        codes.append(subprocess.run([*command, "--output", str(record), "--", suite], check=False).returncode)
        if (record / "summary.json").is_file():
            annotate_edits(suite, record, commit)
            page = subprocess.run(["evalrs", "report", str(record), "--format", "markdown"], stdout=subprocess.PIPE, check=False)
            pages.append(page.stdout.decode("utf-8", "replace"))
    if may_ask() and environment("EVALRS_CACHE_KEY"):
        push()
    worst = worst_of(codes)
    text = home / "comment.md"
    text.write_text(comment_of(pages), encoding="utf-8")
    output("comment", str(text))
    output("exit-code", str(worst))
    failed = [code for code in codes if code != IN_BATCH]
    if IN_BATCH in codes:
        print("::warning title=judgments are out in a batch::a later run of this workflow collects them; no gate over them has decided yet")
    sys.exit(worst_of(failed) if failed else 0)


def push():
    """Writes new outcomes to the shared cache of each workspace. A cache that is away is a warning."""
    pushed = set()
    for suite in suites():
        place = subprocess.run(["evalrs", "cache", "path", suite], stdout=subprocess.PIPE, text=True, check=False).stdout
        if place in pushed:
            continue
        pushed.add(place)
        done = subprocess.run(["evalrs", "cache", "push", suite], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        print(done.stdout, end="")
        if done.returncode != 0:
            print(f"::warning title=the shared cache was not written::{escape(done.stdout)}")


def worst_of(codes):
    return max(codes, key=lambda code: RANKS.index(code) if code in RANKS else len(RANKS))


def comment_of(pages):
    """One comment of the pages of all suites, as many as it may hold."""
    parts, length = [MARKER], len(MARKER)
    for at, page in enumerate(pages):
        size = len(page.encode()) + 2
        if length + size > LONGEST:
            parts.append(f"{len(pages) - at} more in the summary of the job.")
            break
        parts.append(page.rstrip())
        length += size
    return "\n\n".join(parts) + "\n"


def ask_github(method, path, body=None):
    request = urllib.request.Request(
        f"{environment('GITHUB_API_URL') or 'https://api.github.com'}{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Authorization": f"Bearer {environment('GITHUB_TOKEN')}",
            "Accept": "application/vnd.github+json",
            "Content-Type": "application/json",
            "User-Agent": "evalrs",
        },
    )
    with urllib.request.urlopen(request, timeout=30) as reply:
        return json.loads(reply.read() or b"null")


def earlier_comment(comments):
    """The id of the comment of an earlier run. Others may quote its marker, so the comment must begin with it."""
    page = 1
    while True:
        found = ask_github("GET", f"{comments}?per_page=100&page={page}")
        for comment in found:
            if comment["body"].startswith(MARKER) and comment["user"]["type"] == "Bot":
                return comment["id"]
        if len(found) < 100:
            return None
        page += 1


def comment():
    """Writes or updates the comment. The action does not fail if the token may not write it."""
    text = Path(environment("EVALRS_COMMENT")).read_text(encoding="utf-8")
    if text.strip() == MARKER:
        return
    repository = f"/repos/{environment('GITHUB_REPOSITORY')}/issues"
    comments = f"{repository}/{event()['pull_request']['number']}/comments"
    try:
        earlier = earlier_comment(comments)
        if earlier is None:
            ask_github("POST", comments, {"body": text})
        else:
            ask_github("PATCH", f"{repository}/comments/{earlier}", {"body": text})
    except (urllib.error.URLError, OSError) as error:
        print(f"::notice::no comment was written: {escape(error)}. The summary of the job has the report")


if __name__ == "__main__":
    # What evalrs writes in between keeps its place.
    sys.stdout.reconfigure(line_buffering=True)
    {"prepare": prepare, "run": run, "comment": comment}[sys.argv[1]]()
