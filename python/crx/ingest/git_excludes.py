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

    `read` returns the bytes of a file and raises `OSError`. A link is followed where the user's
    configuration names it, and nowhere else.
    """
    dot_git = os.path.join(folder, ".git")
    repository = "" if os.path.islink(dot_git) else _common_folder(dot_git, read)
    if not repository:
        return
    own = _configured(os.path.join(repository, "config"), read)
    files = (
        os.path.join(folder, own) if own else _excludes_of_user(read),
        os.path.join(repository, "info", "exclude"),
    )
    yield from filter(os.path.lexists, files)


def _common_folder(path: str, read: Callable[[str], bytes]) -> str:
    """Return the folder of a repository, which worktrees share, given its `.git`; "" if none is."""
    if not os.path.isfile(path):
        return path
    text = read(path).decode("utf-8", errors="replace").strip()
    if not text.startswith(_GITDIR):
        return ""
    folder = os.path.join(os.path.dirname(path), text.removeprefix(_GITDIR).strip())
    common = os.path.join(folder, "commondir")
    if not os.path.lexists(common):
        return folder
    return os.path.join(folder, read(common).decode("utf-8", errors="replace").strip())


def _excludes_of_user(read: Callable[[str], bytes]) -> str:
    settings = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    named = os.environ.get("GIT_CONFIG_GLOBAL")
    files = [named] if named else ["~/.gitconfig", os.path.join(settings, "git", "config")]
    for each in (*files, "/etc/gitconfig"):
        if value := _configured(os.path.realpath(os.path.expanduser(each)), read):
            return os.path.realpath(value)
    return os.path.realpath(os.path.join(settings, "git", "ignore"))


def _configured(path: str, read: Callable[[str], bytes]) -> str:
    """Return the last value of `core.excludesFile` in a file of git's configuration, or ""."""
    if not os.path.lexists(path):
        return ""
    section, found = "", ""
    for line in read(path).decode("utf-8", errors="replace").splitlines():
        stripped = line.strip()
        if head := _SECTION.match(stripped):
            section, stripped = head["name"].lower(), stripped[head.end() :].strip()
        if section == "core" and (value := _VALUE.match(stripped)):
            found = value["quoted"] or (value["plain"] or "").strip()
    return os.path.expanduser(found)
