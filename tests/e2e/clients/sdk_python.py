"""The official Python SDKs at the gateway, configured with the base URL only.

Usage: sdk_python.py API TURNS TOKENS BASE_URL, where API is messages, chat, responses or chained (each response continues
the previous one by its id). Prints the final state of the SDK as JSON: its messages, and facts from the response headers.
"""

import json
import struct
import sys
import zlib

import anthropic
import openai

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"], "additionalProperties": False}


def png():
    """A picture of 16 by 16 pixels, generated here."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes([row * 16, 128, 255 - row * 16]) * 16 for row in range(16))
    head = struct.pack(">IIBBBBB", 16, 16, 8, 2, 0, 0, 0)
    whole = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    import base64

    return base64.b64encode(whole).decode()


def result(name, tokens):
    """Text of about the given number of tokens, different for every call."""
    line = f"{name} says: words that are worth reading twice, here and there. "
    return line * max(1, tokens // 16)


class Talk:
    def __init__(self, url, tokens):
        self.url, self.tokens = url, tokens
        self.held, self.headers = [], []

    def note(self, headers):
        wanted = ("x-unforget-authority", "x-unforget-overhead-ms", "x-unforget-prompt-tokens")
        self.headers.append({name: headers.get(name) for name in wanted})


class Messages(Talk):
    def __init__(self, url, tokens):
        super().__init__(url, tokens)
        self.client = anthropic.Anthropic(base_url=url, api_key="k", max_retries=0)

    def say(self, text, image):
        content = [{"type": "text", "text": text}]
        if image:
            content.append({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png()}})
        self.held.append({"role": "user", "content": content})

    def ask(self, streamed):
        asked = dict(model="scripted", max_tokens=1024, system="You are helpful.", messages=self.held,
                     tools=[{"name": "read", "description": "Reads a file", "input_schema": SCHEMA}])
        if streamed:
            with self.client.messages.stream(**asked) as stream:
                answer = stream.get_final_message()
                self.note(stream.response.headers)
        else:
            raw = self.client.messages.with_raw_response.create(**asked)
            self.note(raw.headers)
            answer = raw.parse()
        content = [block.model_dump(mode="json", exclude_none=True) for block in answer.content]
        self.held.append({"role": "assistant", "content": content})
        calls = [block for block in answer.content if block.type == "tool_use"]
        if calls:
            results = [{"type": "tool_result", "tool_use_id": call.id, "content": result(call.input["path"], self.tokens)}
                       for call in calls]
            self.held.append({"role": "user", "content": results})
        return bool(calls)


class Chat(Talk):
    def __init__(self, url, tokens):
        super().__init__(url, tokens)
        self.client = openai.OpenAI(base_url=url + "/v1", api_key="k", max_retries=0)

    def say(self, text, image):
        content = [{"type": "text", "text": text}]
        if image:
            content.append({"type": "image_url", "image_url": {"url": "data:image/png;base64," + png()}})
        self.held.append({"role": "user", "content": content})

    def ask(self, streamed):
        system = [{"role": "system", "content": "You are helpful."}]
        asked = dict(model="scripted", max_completion_tokens=1024, messages=system + self.held,
                     tools=[{"type": "function", "function": {"name": "read", "parameters": SCHEMA}}])
        if streamed:
            with self.client.chat.completions.stream(**asked) as stream:
                message = stream.get_final_completion().choices[0].message
                self.note(stream._response.headers)
        else:
            raw = self.client.chat.completions.with_raw_response.create(**asked)
            self.note(raw.headers)
            message = raw.parse().choices[0].message
        calls = message.tool_calls or []
        answer = {"role": "assistant", "content": message.content}
        if calls:
            answer["tool_calls"] = [{"id": call.id, "type": "function",
                                     "function": {"name": call.function.name, "arguments": call.function.arguments}}
                                    for call in calls]
        self.held.append(answer)
        for call in calls:
            path = json.loads(call.function.arguments)["path"]
            self.held.append({"role": "tool", "tool_call_id": call.id, "content": result(path, self.tokens)})
        return bool(calls)


class Responses(Talk):
    chained = False

    def __init__(self, url, tokens):
        super().__init__(url, tokens)
        self.client = openai.OpenAI(base_url=url + "/v1", api_key="k", max_retries=0)
        self.last, self.new = None, 0

    def say(self, text, image):
        content = [{"type": "input_text", "text": text}]
        if image:
            content.append({"type": "input_image", "image_url": "data:image/png;base64," + png(), "detail": "auto"})
        self.held.append({"role": "user", "content": content})

    def ask(self, streamed):
        asked = dict(model="scripted", max_output_tokens=1024, instructions="You are helpful.", input=self.held,
                     tools=[{"type": "function", "name": "read", "description": "Reads a file", "parameters": SCHEMA,
                             "strict": True}])
        if self.chained:
            asked["input"] = self.held[self.new:]
            if self.last:
                asked["previous_response_id"] = self.last
        else:
            asked["store"] = False
        if streamed:
            asked.pop("stream", None)
            with self.client.responses.stream(**asked) as stream:
                answer = stream.get_final_response()
                self.note(stream._response.headers)
        else:
            raw = self.client.responses.with_raw_response.create(**asked)
            self.note(raw.headers)
            answer = raw.parse()
        self.last = answer.id
        items = [item.model_dump(mode="json", exclude_none=True) for item in answer.output]
        for item in items:
            item.pop("parsed_arguments", None)
            for part in item.get("content", []):
                part.pop("parsed", None)
        if not self.chained:
            # Without the provider's store, ids of its items have no meaning.
            items = [{key: value for key, value in item.items() if key != "id"} for item in items]
        self.held.extend(items)
        self.new = len(self.held)
        calls = [item for item in answer.output if item.type == "function_call"]
        for call in calls:
            path = json.loads(call.arguments)["path"]
            self.held.append({"type": "function_call_output", "call_id": call.call_id, "output": result(path, self.tokens)})
        return bool(calls)


class Chained(Responses):
    chained = True


def main():
    api, turns, tokens, url = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    talk = {"messages": Messages, "chat": Chat, "responses": Responses, "chained": Chained}[api](url, tokens)
    for turn in range(turns):
        talk.say(f"Question {turn}: what is in the next file? Remember the word w{turn}x.", turn % 10 == 3)
        streamed = turn % 2 == 0
        while talk.ask(streamed):
            pass
    print(json.dumps({"held": talk.held, "headers": talk.headers}))


if __name__ == "__main__":
    main()
