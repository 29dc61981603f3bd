from __future__ import annotations

import dataclasses
import unittest
from pathlib import Path

from agora_arena import Config

ROOT = Path(__file__).resolve().parents[1]


class Docs(unittest.TestCase):
    def test_the_readme_shows_the_examples_which_are_short(self) -> None:
        for name, lines in (("connect", 12), ("agent", 20)):
            example = (ROOT / f"examples/{name}.py").read_text()
            self.assertIn("```python\n" + example + "```", (ROOT / "README.md").read_text())
            self.assertLessEqual(len(example.splitlines()), lines)

    def test_the_readme_names_every_setting(self) -> None:
        for field in dataclasses.fields(Config):
            self.assertIn(f"`{field.name}`", (ROOT / "README.md").read_text())
