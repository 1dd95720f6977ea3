#!/usr/bin/env python3
"""An agent with a history that never ends, in 60 lines: the engine keeps it, and makes the prompt that fits.

    examples/agent.py --url http://127.0.0.1:8080/v1 --model NAME --db agent.sqlite [--budget TOKENS]

A line on stdin is a message of the person; the answer goes to stdout. Any Chat Completions server will do. The calls of the
engine are described in docs/protocol.md.
"""

import argparse
import json
import subprocess
import sys
import time
import urllib.request

parser = argparse.ArgumentParser()
for name, otherwise in [("url", None), ("model", None), ("db", "agent.sqlite"), ("lane", "example"), ("unforget", "unforget")]:
    parser.add_argument(f"--{name}", default=otherwise, required=otherwise is None)
parser.add_argument("--budget", type=int, default=16_000)
args = parser.parse_args()

engine = subprocess.Popen([args.unforget, "engine", "--stdio", "--db", args.db], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
calls = 0


def call(method, **params):
    """One call of the engine. This agent makes one at a time, so the next line is its answer."""
    global calls
    calls += 1
    lane = {"lane": args.lane, "form": "openai-chat"}
    engine.stdin.write(json.dumps({"jsonrpc": "2.0", "id": calls, "method": method, "params": lane | params}) + "\n")
    engine.stdin.flush()
    answer = json.loads(engine.stdout.readline())
    if "error" in answer:
        raise RuntimeError(f"{method}: {answer['error']['message']}")
    return answer["result"]


def ask(messages):
    """The model's answer."""
    body = json.dumps({"model": args.model, "messages": messages}).encode()
    request = urllib.request.Request(args.url + "/chat/completions", body, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=300) as answer:
        return json.load(answer)


for number, line in enumerate(sys.stdin):
    turn = f"{time.time_ns()}-{number}"
    said = {"role": "user", "content": line.rstrip("\n")}
    # Durable before the model is asked: no crash loses it.
    call("beginTurn", turn=turn, messages=[{"message": said}])
    prompt = call("assemble", budget=args.budget, dialect="openai-chat", model=args.model, isFirst=True)
    system = [{"role": "system", "content": "\n\n".join(prompt["system"])}] if prompt["system"] else []
    answer = ask(system + prompt["messages"])
    given = {"role": "assistant", "content": answer["choices"][0]["message"]["content"]}
    call("commitTurn", turn=turn, messages=[{"message": said}, {"message": given}])
    call("answered", inputTokens=answer.get("usage", {}).get("prompt_tokens", 0))
    print(given["content"], flush=True)
engine.stdin.close()
engine.wait()
