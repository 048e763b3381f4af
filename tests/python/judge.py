"""A judge on loopback that answers at once, and counts what it is asked."""

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def completion(score, prompt=""):
    """A chat completion that gives this score; the answer to a question for yes or no is yes from a half on."""
    verdict = json.dumps({"rationale": f"scored {score}", "score": score})
    if '"verdict"' in prompt:
        verdict = json.dumps({"reason": f"scored {score}", "verdict": "yes" if score >= 0.5 else "no"})
    message = {"role": "assistant", "content": verdict}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"model": "scripted-1", "choices": [choice], "usage": {"prompt_tokens": 10, "completion_tokens": 2}}


class Judge(ThreadingHTTPServer):
    """Gives the score that `score` says of a prompt."""

    daemon_threads = True

    def __init__(self, score):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.score = score
        self.asked = []

    @property
    def url(self):
        """Its base URL."""
        return f"http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = body["messages"][-1]["content"]
        self.server.asked.append(prompt)
        reply = json.dumps(completion(self.server.score(prompt), prompt)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_):
        """Says nothing."""


@contextlib.contextmanager
def judge(score):
    """A judge that answers while the block lasts."""
    server = Judge(score)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
