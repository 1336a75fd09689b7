"""A search that ends when it is interrupted, and not before."""

from __future__ import annotations

import threading
import time

from crx import _native


class EndlessSearch:
    """A stage of a search that ends when it is interrupted."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.ended = threading.Event()

    def __call__(self, *_: object, **__: object) -> object:
        self.entered.set()
        try:
            while True:
                _native.check_interrupt()
                time.sleep(0.001)
        finally:
            self.ended.set()
