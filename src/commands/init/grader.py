#!/usr/bin/env python3
"""Grades one output: JSON on standard input, JSON on standard output, exit code 0.

Test it alone:
    echo '{"input":"test","output":"hello world","hint":"world"}' | ./grader.py
"""

import json
import sys


def grade(output, hint):
    if not hint:
        return {"pass": True, "score": 1.0, "reasoning": "No hint provided"}
    found = hint.lower() in output.lower()
    return {
        "pass": found,
        "score": 1.0 if found else 0.0,
        "reasoning": "Output contains hint" if found else "Output lacks hint",
    }


if __name__ == "__main__":
    data = json.load(sys.stdin)
    print(json.dumps(grade(data.get("output") or "", data.get("hint"))))
