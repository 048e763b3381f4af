#!/usr/bin/env python3
"""The rows and the judge of llmbar-criteria.yaml.

    python3 llmbar_judge.py rows Dataset/LLMBar/Natural/dataset.json > rows.jsonl
    python3 llmbar_judge.py serve             # listens on http://127.0.0.1:8097/v1 until Ctrl-C

A row is one of two outputs, with the label of the people who compared them. The judge is not a model: it compares words and lengths, so
that the example works without an API key. Its agreement with the labels says nothing of any model.
"""

import json
import re
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

FENCED = re.compile(r"<([\w-]+)-([0-9a-f]{12})>\n(.*?)\n</\1-\2>", re.DOTALL)


def rows(path):
    for at, pair in enumerate(json.load(open(path, encoding="utf-8"))):
        for output in (1, 2):
            label = "pass" if pair["label"] == output else "fail"
            row = {"id": f"{at}-{output}", "input": pair["input"], "output": pair[f"output_{output}"], "label": label}
            print(json.dumps(row, ensure_ascii=False))


def words(text):
    return re.findall(r"\w{4,}", text.lower())


def judged(message):
    """A verdict on the question of the message, or a score between 0 and 1 of a rubric."""
    texts = {name: text for name, _, text in FENCED.findall(message)}
    asked, said = words(texts.get("input", "")), words(texts.get("submission", ""))
    shared = len(set(asked) & set(said)) / max(1, len(set(asked)))
    facts = {
        "about the subject": (shared >= 0.1, f"{shared:.0%} of the words of the instruction"),
        "whole answer": (len(said) >= 5, f"{len(said)} words"),
        "add something": (len(said) > 2 * len(asked) + 40, f"{len(said)} words for {len(asked)}"),
    }
    if '"verdict"' not in message:
        met = [facts["about the subject"][0], facts["whole answer"][0], not facts["add something"][0]]
        return {"rationale": "; ".join(why for _, why in facts.values()), "score": round(sum(met) / 3, 2)}
    is_so, why = next(fact for words_of, fact in facts.items() if words_of in FENCED.sub("", message))
    return {"reason": why, "verdict": "yes" if is_so else "no"}


class Judge(BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = json.dumps(judged(request["messages"][-1]["content"]), ensure_ascii=False)
        reply = {"model": "scripted-judge", "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}
        body = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    if sys.argv[1:2] == ["rows"]:
        rows(sys.argv[2])
    else:
        HTTPServer(("127.0.0.1", 8097), Judge).serve_forever()
