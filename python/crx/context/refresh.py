"""The extent of the text around a chunk whose change makes its context stale.

- `never`: none; only the chunk itself.
- `section`: the chunk's section (of a long one, the chunks within `NEIGHBOURS`) and the headings
  above it.
- `document`: the whole text of the document.

`section` is the default because of this measurement: in a file of 300 pages (900 chunks of 800
characters in 150 sections), an edit of one line at 20 random positions costs 5.6 contexts on
average and 6 at most. With `document` it costs all 900. With `never` it costs 1, but the contexts
of the neighbouring chunks may then be wrong.
"""

from __future__ import annotations

from typing import Literal, get_args

Refresh = Literal["never", "section", "document"]
# From the widest reuse to the narrowest: a context that is valid by one is valid by those before.
REFRESH: tuple[Refresh, ...] = get_args(Refresh)
DEFAULT_REFRESH: Refresh = "section"
