"""Conversations of the official SDKs, far longer than the window: compares the sent messages with the export."""

import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

from stage import CLIENTS, Daemon, Failed, Provider, check_upstream, report, scratch, want

HERE = pathlib.Path(__file__).parent
WINDOW = 32_000


def plain(message):
    """The content of a message, without meaningless fields that SDKs add or omit."""
    if message.get("role") and message.get("type", "message") == "message":
        content = message.get("content")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        blocks = [block_of(block) for block in content or []]
        calls = [(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls") or []]
        return ("message", message["role"], blocks, calls, message.get("tool_call_id"))
    return tuple(message.get(key) for key in ("type", "call_id", "name", "arguments", "input", "output", "encrypted_content"))


def block_of(block):
    kind = block.get("type")
    if kind in ("text", "input_text", "output_text"):
        return ("text", block["text"])
    skipped = ("caller", "citations", "detail", "cache_control")
    return json.dumps({key: value for key, value in block.items() if key not in skipped and value is not None}, sort_keys=True)


def client(language, api, turns, tokens, url):
    if language == "python":
        return [CLIENTS / "py/bin/python", HERE / "sdk_python.py", api, str(turns), str(tokens), url]
    # Node looks for packages beside the file.
    script = shutil.copy(HERE / "sdk_typescript.mjs", CLIENTS)
    return ["node", script, api, str(turns), str(tokens), url]


def run(folder, language, api, turns, tokens):
    provider = Provider(folder, WINDOW)
    daemon = Daemon(folder, provider.url, WINDOW)
    begun = time.time()
    done = subprocess.run(client(language, api, turns, tokens, daemon.url), capture_output=True, text=True)
    daemon.end()
    came = provider.came()
    provider.end()
    want(done.returncode == 0, f"{language} {api}: {done.stderr[-2000:]}")
    told = json.loads(done.stdout)
    largest = check_upstream(came, WINDOW)
    want(len(came) == len(told["headers"]), f"{len(came)} calls upstream for {len(told['headers'])} of the client")
    lanes = daemon.lanes()
    want(len(lanes) == 1, f"{len(lanes)} lanes")
    said = [plain(message) for message in daemon.said(lanes[0]["conversation"])]
    held = [plain(message) for message in told["held"]]
    for index, (one, other) in enumerate(zip(said, held)):
        want(one == other, f"message {index} differs:\nstored {str(one)[:600]}\nheld   {str(other)[:600]}")
    want(len(said) == len(held), f"{len(said)} messages are stored, the client holds {len(held)}")
    authorities = {headers["x-unforget-authority"] for headers in told["headers"]}
    want(authorities <= {"as-sent", "assembled"}, f"authorities: {authorities}")
    daemon.ask("verify")
    added = sorted(float(headers["x-unforget-overhead-ms"]) for headers in told["headers"])
    report(f"{language} {api}", begun, turns=turns, calls=len(came), largest_prompt=largest, tokens_stored=lanes[0]["tokens"],
           overhead_ms_median=round(statistics.median(added), 1), overhead_ms_p99=round(added[int(len(added) * 0.99)], 1),
           assembled=sum(headers["x-unforget-authority"] == "assembled" for headers in told["headers"]))


def main():
    """Usage: sdks.py TURNS TOKENS_PER_RESULT [LANGUAGE:API …]"""
    turns, tokens = int(sys.argv[1]), int(sys.argv[2])
    apis = ("messages", "chat", "responses", "chained")
    chosen = sys.argv[3:] or [f"{language}:{api}" for language in ("python", "typescript") for api in apis]
    failed = []
    for name in chosen:
        try:
            with scratch("sdk") as folder:
                run(folder, *name.split(":"), turns, tokens)
        except Failed as error:
            failed.append(name)
            print(f"FAILED {name}: {error}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
