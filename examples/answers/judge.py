#!/usr/bin/env python3
"""A judge for readers without an API key: a script that looks for words.

    command: [python3, judge.py]      # of a rubric grader, instead of `model`

evalrs sends the prompt of a judge to standard input, and reads the verdict from standard output. This script checks what the
rubric mentions: *friendly* wants a friendly word in the reply, *thank* wants thanks, and `{ground_truth}` wants the words of
the reference answer. The score is the share of these checks that hold.
"""

import json
import re
import sys

FRIENDLY = re.compile(r"\b(good morning|of course|happy|thank you)\b", re.IGNORECASE)


def words(text):
    return re.findall(r"\w+", text.lower())


def tagged(prompt, name):
    """The text between two tags of the prompt; None if it has no such tags."""
    found = re.search(rf"<{name}-([0-9a-f]{{12}})>\n(.*?)\n</{name}-\1>", prompt, re.DOTALL)
    return found.group(2) if found else None


def verdict(prompt):
    """Score and rationale for one reply."""
    reply = tagged(prompt, "submission")
    expected = tagged(prompt, "ground-truth")
    # Without the texts between tags the rubric remains.
    rubric = re.sub(r"<([\w-]+)>\n.*?\n</\1>", "", prompt, flags=re.DOTALL)
    checks = {}
    if "friendly" in rubric:
        checks["a friendly word"] = FRIENDLY.search(reply) is not None
    if expected is not None:
        checks[f"“{expected}”"] = set(words(expected)) <= set(words(reply))
    if "thank" in rubric:
        checks["thanks"] = "thank" in words(reply)
    has = " and ".join(name for name, holds in checks.items() if holds)
    lacks = " and ".join(name for name, holds in checks.items() if not holds)
    parts = [f"has {has}" if has else "", f"lacks {lacks}" if lacks else ""]
    rationale = "It " + ", but ".join(part for part in parts if part) + "."
    return {"rationale": rationale, "score": round(sum(checks.values()) / max(1, len(checks)), 2)}


if __name__ == "__main__":
    print(json.dumps(verdict(sys.stdin.read()), ensure_ascii=False))
