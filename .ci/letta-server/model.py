"""A model for a Letta server whose agents judge: it says what marks in the newest message of the user tell it.

[[judge-score:0.5]] calls the judge's tool with that score, [[judge-text:words]] answers in text, [[judge-http:429]] fails with
that status, [[judge-slow:20]] waits for so many seconds first. Without a mark, a message that holds a 4 is right.
"""

import json
import re
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOOL = "submit_grade"
USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


def words(content):
    """The text of a message, which may come in parts."""
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


def mark(name, text):
    found = re.search(r"\[\[" + name + r":(.*?)\]\]", text, re.DOTALL)
    return found and found.group(1)


def answer(body):
    """The message of the model, or the status it fails with."""
    messages = body.get("messages", [])
    if messages and messages[-1].get("role") == "tool":
        return {"role": "assistant", "content": "Done."}
    asked = [words(message.get("content")) for message in messages if message.get("role") == "user"]
    text = asked[-1] if asked else ""
    time.sleep(float(mark("judge-slow", text) or 0))
    if status := mark("judge-http", text):
        return int(status)
    if said := mark("judge-text", text):
        return {"role": "assistant", "content": said}
    score = float(mark("judge-score", text) or (1.0 if "4" in text else 0.25))
    arguments = json.dumps({"score": score, "rationale": "as the mark says"})
    call = {"id": f"call_{time.monotonic_ns()}", "type": "function"}
    call["function"] = {"name": TOOL, "arguments": arguments}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        model = {"id": "gpt-4.1-mini", "object": "model", "created": 1, "owned_by": "test"}
        self.reply(200, {"object": "list", "data": [model]})

    def do_POST(self):
        length = int(self.headers.get("content-length") or 0)
        body = json.loads(self.rfile.read(length) or b"{}")
        if self.path.endswith("/embeddings"):
            vector = {"object": "embedding", "index": 0, "embedding": [0.01] * 1536}
            self.reply(200, {"object": "list", "data": [vector], "model": "e", "usage": USAGE})
            return
        said = answer(body)
        if isinstance(said, int):
            self.reply(said, {"error": {"message": f"the model says {said}", "type": "test"}})
            return
        finish = "tool_calls" if said.get("tool_calls") else "stop"
        head = {"id": "chatcmpl-1", "created": 1, "model": body.get("model")}
        if body.get("stream"):
            self.stream(head, said, finish)
            return
        choice = {"index": 0, "message": said, "finish_reason": finish}
        self.reply(200, {**head, "object": "chat.completion", "choices": [choice], "usage": USAGE})

    def stream(self, head, said, finish):
        head = {**head, "object": "chat.completion.chunk"}
        calls = [{"index": 0, **call} for call in said.get("tool_calls", [])]
        delta = {**said, "tool_calls": calls} if calls else said
        chunks = [
            {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
            {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
            {**head, "choices": [], "usage": USAGE},
        ]
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for chunk in chunks:
            self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        self.wfile.write(b"data: [DONE]\n\n")


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Model).serve_forever()
