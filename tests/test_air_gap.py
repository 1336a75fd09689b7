"""A bundle on a machine without a network: install, index, search, serve, the page."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from crx._models.store import list_models
from crx.registry import DEFAULT_EMBEDDER

ROOT = Path(__file__).parent.parent
UNSHARE = ("unshare", "-rn")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="needs network namespaces"),
    pytest.mark.skipif(DEFAULT_EMBEDDER not in list_models(), reason="needs the embedder"),
]

# Runs in a network namespace whose only interface is its own loopback, with an empty home.
SCRIPT = """
set -eu
python=$1 bundle=$2
ip link set lo up
"$python" "$bundle/install.py" env
env/bin/crx --version
mkdir docs
printf '# Whales\\n\\nKrill is what a whale eats.\\n' > docs/whales.md
env/bin/crx index -q docs
env/bin/crx search --no-server what does a whale eat
cp -r "$bundle/wheels" others
rm others/crx-*
env/bin/crx bundle create -q --from others again
env/bin/crx bundle verify again
env/bin/crx serve -q --port 8765 2> serve.err &
server=$!
"$python" - <<'END'
import json, time, urllib.request

def fetch(path, body=None):
    headers = {"Content-Type": "application/json"}
    asked = urllib.request.Request("http://127.0.0.1:8765" + path, data=body, headers=headers)
    return urllib.request.urlopen(asked, timeout=60).read().decode()

for _ in range(240):
    try:
        fetch("/health")
        break
    except OSError:
        time.sleep(0.25)
found = json.loads(fetch("/v1/search", json.dumps({"query": "what does a whale eat"}).encode()))
assert "Krill" in found["passages"][0]["text"], found
assert "Krill" in fetch("/?q=what+does+a+whale+eat")
print("served")
END
test ! -e "$HOME/.cache/Microsoft"
kill $server
"""


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """The wheel of crx, built from these sources."""
    maturin = Path(sys.executable).with_name("maturin")
    options = ["--release", "--locked", "--quiet", "--out", str(tmp_path / "built")]
    subprocess.run([maturin, "build", *options], cwd=ROOT, check=True)
    return next((tmp_path / "built").glob("crx-*.whl"))


def test_a_bundle_is_all_that_a_machine_without_a_network_needs(
    tmp_path: Path, wheel: Path
) -> None:
    programs = [shutil.which("unshare"), shutil.which("ip")]
    if None in programs or subprocess.run([*UNSHARE, "true"], capture_output=True).returncode:
        pytest.skip("needs ip, and unshare to be allowed")
    bundle, home = tmp_path / "carry", tmp_path / "home"
    home.mkdir()
    create = [sys.executable, "-m", "crx", "bundle", "create", str(bundle), "--wheel", str(wheel)]
    made = subprocess.run(create, capture_output=True, text=True)
    if "no connection" in made.stderr:
        pytest.skip("the package registry cannot be reached")
    assert made.returncode == 0, made.stderr
    base = Path(sys.executable).resolve()
    done = subprocess.run(
        [*UNSHARE, "bash", "-c", SCRIPT, "bash", base, bundle],
        cwd=home,
        env={"HOME": str(home), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert "1. docs/whales.md:3" in done.stdout
    assert done.stdout.endswith("served\n")
