"""Here are passages: how are they laid before a model?

Documents are hostile input. Every passage stands between tags that hold a word which occurs
nowhere in what is quoted, so that nothing in a passage can end it; what looks like a citation in
it is spaced out, so that a number in an answer's brackets is always one of ours. What was written
to situate a passage stands apart from its source.
"""

from __future__ import annotations

import re

# What a model is asked to write where the documents do not say.
NOT_HERE = "This is not in these documents."

# A passage in a prompt: its number and its source.
SOURCE = re.compile(
    r'<passage-(?P<word>\w+) number="(?P<number>\d+)".*?'
    r"<source-(?P=word)>\n(?P<text>.*?)\n</source-(?P=word)>",
    re.DOTALL,
)
