#!/usr/bin/env python3
"""The judge of this example: a script that answers as an OpenAI-compatible server does.

    python3 examples/rubric/judge.py          # listens on http://127.0.0.1:8099/v1 until Ctrl-C

It is not a model. It looks for the words of the expected answer and for a friendly word, and names what it found. Where the rubric
accepts a plain reply, a correct one needs no friendly word. So the example works without an API key, and its verdicts make sense.
"""

import json
import re
from http.server import BaseHTTPRequestHandler, HTTPServer

FRIENDLY = re.compile(r"\b(good morning|welcome|thank you|of course|happy|whenever you like|see you)\b", re.IGNORECASE)
FENCED = re.compile(r"<([\w-]+)-([0-9a-f]{12})>\n(.*?)\n</\1-\2>", re.DOTALL)


def judged(message):
    """Half a point for the expected answer, half for the tone."""
    texts = {name: text for name, _, text in FENCED.findall(message)}
    reply, expected = texts.get("submission", ""), texts.get("ground-truth", "")
    takes_plain = "plain" in FENCED.sub("", message).lower()
    words = set(re.findall(r"\w+", reply.lower()))
    is_right = all(word in words for word in re.findall(r"\w+", expected.lower()))
    friendly = FRIENDLY.search(reply)
    content = f"It says “{expected}”" if is_right else f"It does not say “{expected}”"
    if friendly:
        tone = f"is friendly: “{friendly.group()}”."
    elif takes_plain and is_right:
        tone = "a plain reply is enough."
    else:
        tone = "has no friendly word."
    is_polite = bool(friendly) or takes_plain and is_right
    link = "and" if is_right == is_polite else "but"
    return {"rationale": f"{content}, {link} {tone}", "score": (0.5 if is_right else 0) + (0.5 if is_polite else 0)}


class Judge(BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = request["messages"][-1]["content"]
        text = json.dumps(judged(message), ensure_ascii=False)
        reply = {
            "model": "scripted-judge",
            "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": len(message) // 4, "completion_tokens": len(text) // 4},
        }
        body = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = HTTPServer(("127.0.0.1", 8099), Judge)
    print("listening on http://127.0.0.1:8099/v1", flush=True)
    server.serve_forever()
