#!/usr/bin/env python3
"""The judge of this example: a script that answers as an OpenAI-compatible server does.

    python3 examples/rubric/judge.py          # listens on http://127.0.0.1:8099/v1 until Ctrl-C

It is no model. It looks for the words of the expected answer and for a friendly word, and says what it found: a stand-in whose
verdicts make sense, so that the example can be followed without an API key.
"""

import json
import re
from http.server import BaseHTTPRequestHandler, HTTPServer

FRIENDLY = re.compile(r"\b(good morning|welcome|thank you|of course|happy|whenever you like|see you)\b", re.IGNORECASE)


def text_of(message, name):
    """The text that the judge was shown between two tags."""
    found = re.search(rf"<{name}-([0-9a-f]{{12}})>\n(.*?)\n</{name}-\1>", message, re.DOTALL)
    return found.group(2) if found else ""


def judged(message):
    """Half a point for saying what is expected, half for a friendly word."""
    reply = text_of(message, "submission")
    expected = text_of(message, "ground-truth")
    words = set(re.findall(r"\w+", reply.lower()))
    missing = [word for word in re.findall(r"\w+", expected.lower()) if word not in words]
    friendly = FRIENDLY.search(reply)
    says = f"It says “{expected}”" if not missing else f"It does not say “{expected}”"
    tone = f"is friendly: “{friendly.group()}”." if friendly else "has no friendly word."
    link = "and" if (not missing) == bool(friendly) else "but"
    return {"rationale": f"{says}, {link} {tone}", "score": (0 if missing else 0.5) + (0.5 if friendly else 0)}


class Judge(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = asked["messages"][-1]["content"]
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
    HTTPServer(("127.0.0.1", 8099), Judge).serve_forever()
