"""Tests the definitions of breaks and of standing context. Needs no client."""

import unittest

import figures
from coding import AGENTS


def text(words, **more):
    return {"type": "text", "text": words, **more}


def asked(*contents):
    roles = ("user", "assistant")
    said = [{"role": roles[at % 2], "content": content} for at, content in enumerate(contents)]
    return {"tools": [{"name": "Bash"}], "system": "You help.", "messages": said}


MARK = {"cache_control": {"type": "ephemeral"}}
BEFORE = asked([text("a", **MARK)], "b", [text("c")])
TABLE = [
    (asked([text("a")], "b", [text("c", **MARK)], "d", "e"), False, "the client moves its cache mark"),
    (asked("a", "b", "c", "d"), False, "a text is a list of one text"),
    (asked("a", "b", [text("c"), text("reminder")]), False, "a block more at the end of the last message"),
    (asked("a", "b"), True, "the end is gone"),
    (asked("a", "B", "c", "d"), True, "the middle is another"),
    ({**asked("a", "b", "c"), "system": "You help well."}, True, "the system text is another"),
    ({**asked("a", "b", "c"), "tools": []}, True, "the tools are others"),
]


class Figures(unittest.TestCase):
    def test_breaks(self):
        for after, is_break, why in TABLE:
            prefix = figures.Prefix()
            prefix.add(figures.serialised(BEFORE))
            self.assertEqual(prefix.add(figures.serialised(after)), is_break, why)

    def test_ids_are_no_break(self):
        def items(number):
            return {"input": [{"type": "function_call", "id": f"fc_{number}", "call_id": f"c_{number}", "name": "exec"}]}

        self.assertEqual(figures.serialised(items(1)), figures.serialised(items(2)))

    def test_common_prefix(self):
        table = [(b"", b"a", 0), (b"ab", b"ab", 2), (b"abc", b"abd", 2), (b"x", b"y", 0), (b"ab", b"abc", 2)]
        for one, two, length in table:
            self.assertEqual(figures.common(one, two), length)

    def test_breaks_in_a_row(self):
        self.assertEqual(figures.consecutive([3, 4, 5, 9]), 2)

    def test_standing_context(self):
        agent, rules = AGENTS["codex"], "- Mark kestrel-00: module."
        body = {"input": [{"role": "user", "content": "<environment_context>"}, {"role": "user", "content": rules}]}
        there = figures.Standing()
        for one in (body, {"input": body["input"] * 2}, {"input": body["input"][:1]}):
            there.count(figures.standing(agent, one))
        found = there.figures()
        self.assertEqual((found["calls"], found["all_once"]), (3, 1))
        self.assertEqual(found["missing"], {"marks": 1})
        self.assertEqual(found["more_than_once"], {"environment": 1, "marks": 1})


if __name__ == "__main__":
    unittest.main()
