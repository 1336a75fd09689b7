"""Files of patterns that git reads besides `.gitignore`: `info/exclude` and `core.excludesFile`.

They count in a folder that has `.git`, below its ignore files. Of the configuration only this value
is read, without `include`: the repository's own, else that of the user, else that of the machine.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator

_SECTION = re.compile(r"\[\s*(?P<name>[^\]]*?)\s*\]")
_VALUE = re.compile(
    r"excludesfile\s*=\s*(?:\"(?P<quoted>[^\"]*)\"|(?P<plain>[^#;]*))", re.IGNORECASE
)
_GITDIR = "gitdir:"


def exclude_files(folder: str, read: Callable[[str], bytes]) -> Iterator[str]:
    """Yield the files for the repository at a folder, the first of the least precedence.

    Links are followed, since the files serve as patterns alone; what is no file has none. `read`
    returns the bytes of a file and raises `OSError`.
    """
    dot_git = os.path.join(folder, ".git")
    repository = "" if os.path.islink(dot_git) else _common_folder(dot_git, read)
    if not repository:
        return
    own = _configured(os.path.join(repository, "config"), read)
    named = _excludes_of_user(read) if own is None else own and os.path.join(folder, own)
    for path in (named, os.path.join(repository, "info", "exclude")):
        if os.path.isfile(path):
            yield os.path.realpath(path)


def _common_folder(path: str, read: Callable[[str], bytes]) -> str:
    """Return the folder of a repository, which worktrees share, given its `.git`; "" if none is."""
    if not os.path.isfile(path):
        return path
    text = read(path).decode("utf-8", errors="replace").strip()
    if not text.startswith(_GITDIR):
        return ""
    folder = os.path.join(os.path.dirname(path), text.removeprefix(_GITDIR).strip())
    common = os.path.join(folder, "commondir")
    if not os.path.isfile(common):
        return folder
    return os.path.join(folder, read(common).decode("utf-8", errors="replace").strip())


def _excludes_of_user(read: Callable[[str], bytes]) -> str:
    settings = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    named = os.environ.get("GIT_CONFIG_GLOBAL")
    files = [named] if named else ["~/.gitconfig", os.path.join(settings, "git", "config")]
    for each in (*files, "/etc/gitconfig"):
        if (value := _configured(os.path.expanduser(each), read)) is not None:
            return value
    return os.path.join(settings, "git", "ignore")


def _configured(path: str, read: Callable[[str], bytes]) -> str | None:
    """Return the last value of `core.excludesFile` in a file of git's configuration.

    It is "" for none at all, and None if the file says nothing of it.
    """
    if not os.path.isfile(path):
        return None
    section, found = "", None
    for line in read(os.path.realpath(path)).decode("utf-8", errors="replace").splitlines():
        stripped = line.strip()
        if head := _SECTION.match(stripped):
            section, stripped = head["name"].lower(), stripped[head.end() :].strip()
        if section == "core" and (value := _VALUE.match(stripped)):
            found = value["quoted"] or (value["plain"] or "").strip()
    return None if found is None else os.path.expanduser(found)
