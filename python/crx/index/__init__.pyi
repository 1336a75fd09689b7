from crx.index.handle import Index as Index
from crx.index.handle import open as open

__all__ = ["Index", "open"]
