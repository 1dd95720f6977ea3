"""Figures of requests at a provider: the common prefix with the previous prompt, and the standing context."""

import json

from material import MARKS, RULES

# Fields that vary from call to call and that no model reads.
VARYING = {"id", "call_id", "tool_use_id", "cache_control", "encrypted_content", "signature"}


def plain(value):
    """The request without ids and cache marks."""
    if isinstance(value, dict):
        return {name: plain(field) for name, field in value.items() if name not in VARYING}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def line(value):
    return json.dumps(plain(value), ensure_ascii=False)


def blocks(content):
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else [content]


def is_counter(block):
    """Claude Code's line with a digest of the request itself; its provider leaves this line out of the cache key."""
    return isinstance(block, dict) and str(block.get("text", "")).startswith("x-anthropic-billing-header")


def messages(body):
    return body.get("messages") or body.get("input") or []


def serialised(body):
    """Tools, system, messages, in cache order. A message extended by a block keeps its beginning."""
    parts = [line(tool) for tool in body.get("tools") or []]
    for name in ("system", "instructions"):
        if body.get(name):
            parts += [line(block) for block in blocks(body[name]) if not is_counter(block)]
    for message in messages(body):
        if not isinstance(message, dict) or "content" not in message:
            parts.append(line(message))
            continue
        head = {name: field for name, field in message.items() if name != "content"}
        parts.append(line(head))
        parts += [line(block) for block in blocks(message["content"])]
    return ("\n".join(parts) + "\n").encode()


def common(one, two):
    """Length of the common prefix in bytes."""
    low, high = 0, min(len(one), len(two))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == two[:middle] else (low, middle - 1)
    return low


def is_aside(message):
    return message.get("role") in ("system", "developer")


def newest(body):
    said = [message for message in messages(body) if isinstance(message, dict) and not is_aside(message)]
    return json.dumps(said[-1], ensure_ascii=False) if said else ""


def has_tools(body):
    return bool(body.get("tools")) or any(isinstance(item, dict) and item.get("type") == "additional_tools" for item in messages(body))


def kind(agent, one):
    """`main`, `compaction` or `side`: titles and sub-agents lack its tools or have their own header."""
    body, headers = one["body"] or {}, one["headers"]
    if any(mark in newest(body) for mark in agent.compaction):
        return "compaction"
    if not has_tools(body) or "x-claude-code-agent-id" in headers or "x-openai-subagent" in headers:
        return "side"
    return "main"


def standing(agent, body):
    """Number of occurrences of each part of the standing context, some of them in descriptions of tools."""
    text = "\n".join(strings([body.get("system"), body.get("instructions"), messages(body)]))
    counts = {f"mark {number:02}": text.count(f"Mark kestrel-{number:02}:") for number in range(MARKS)}
    counts |= {f"rule {number}": text.count(rule) for number, rule in enumerate(RULES)}
    return counts | {name: text.count(mark) for name, mark in agent.standing.items()}


def strings(value):
    """All strings of a body, without the names of its fields."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from strings(item)


class Standing:
    """The standing context in all calls of a conversation. Each part of the first call is expected in every call."""

    def __init__(self):
        self.expected, self.calls, self.whole = None, 0, 0
        self.missing, self.twice = {}, {}

    def count(self, counts):
        if self.expected is None:
            self.expected = {name for name, count in counts.items() if count}
        self.calls += 1
        wrong = 0
        for name in self.expected:
            if counts[name] != 1:
                wrong += 1
                table = self.twice if counts[name] else self.missing
                group = name.split()[0] + "s" if name.startswith(("mark", "rule")) else name
                table[group] = table.get(group, 0) + 1
        self.whole += wrong == 0

    def figures(self):
        groups = {name.split()[0] + "s" if name.startswith(("mark", "rule")) else name for name in self.expected or ()}
        return {"calls": self.calls, "all_once": self.whole, "looked_for": sorted(groups), "missing": self.missing, "more_than_once": self.twice}


class Prefix:
    """The common prefix of consecutive requests of one conversation."""

    def __init__(self):
        self.before, self.calls, self.breaks, self.bytes, self.cached, self.first = None, 0, [], 0, 0, 0

    def add(self, text):
        """True if the request does not begin with the whole previous request."""
        self.calls += 1
        before, self.before = self.before, text
        if before is None:
            self.first = len(text)
            return False
        shared = common(before, text)
        self.bytes += len(text)
        self.cached += shared
        is_break = shared < len(before)
        if is_break:
            self.breaks.append(self.calls - 1)
        return is_break


def share(part, whole):
    return round(part / whole, 4) if whole else None


def mean(numbers):
    return round(sum(numbers) / len(numbers), 4) if numbers else None


def consecutive(breaks):
    return sum(1 for one, two in zip(breaks, breaks[1:]) if two == one + 1)


def of_run(agent, window, log):
    """All figures of a run from the provider's log, read line by line because it holds whole bodies."""
    main, there = Prefix(), Standing()
    kinds, refused, uses, prompts, outside = {"main": 0, "compaction": 0, "side": 0}, [], [], [], 0
    with log.open() as lines:
        for one in map(json.loads, lines):
            if one["status"] != 200:
                refused.append({"number": one["number"], "tokens": one["tokens"], "violations": one["violations"][:2]})
                continue
            which, body = kind(agent, one), one["body"]
            kinds[which] += 1
            if which == "side" or not has_tools(body):
                outside += len(serialised(body))
                continue
            main.add(serialised(body))
            answer = body.get("max_tokens") or body.get("max_output_tokens") or 0
            prompts.append(one["tokens"] - answer)
            if main.breaks:
                uses.append((one["tokens"] - answer) / (window - answer))
            if which == "main":
                there.count(standing(agent, body))
    return {
        "calls": main.calls,
        "compactions": kinds["compaction"],
        "side_calls": kinds["side"],
        "breaks": len(main.breaks),
        "breaks_share": share(len(main.breaks), main.calls),
        "consecutive_breaks": consecutive(main.breaks),
        "first_break": main.breaks[0] if main.breaks else None,
        "prefix_share": share(main.cached, main.bytes),
        "prompt_bytes": main.bytes,
        "uncached_bytes": main.bytes - main.cached,
        # Includes titles, and compactions outside of the conversation.
        "all_uncached_bytes": main.bytes - main.cached + outside,
        "largest_prompt": max(prompts, default=0),
        "mean_use": mean(uses),
        "peak_use": round(max(uses), 4) if uses else None,
        "refusals": len(refused),
        "first_refusal": refused[0] if refused else None,
        "standing": there.figures(),
    }
