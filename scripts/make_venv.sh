#!/bin/sh
# Make a virtual environment with Whence and its development tools in it.
# A name on the PATH proves nothing (version managers leave shims), so each candidate is run.
set -eu

venv=${1:-.venv}

usable() {
    command -v "$1" >/dev/null 2>&1 &&
        "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
    for candidate in ${PYTHON:-} python3.13 python3.12 python3.11 python3.14 python3 python; do
        if usable "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    echo "whence needs Python 3.11 or newer, and none was found on the PATH." >&2
    echo "Install one, or name it: make PYTHON=/path/to/python3.11 …" >&2
    exit 1
}

# Debian and Ubuntu ship Python without ensurepip; any of the other ways will do.
create() {
    "$1" -c 'import ensurepip' >/dev/null 2>&1 && "$1" -m venv "$venv" && return
    rm -rf "$venv"
    "$1" -m virtualenv -q "$venv" 2>/dev/null && return
    if "$1" -m pip --version >/dev/null 2>&1 && "$1" -m venv --without-pip "$venv" 2>/dev/null; then
        "$1" -m pip --python "$venv/bin/python" install -q pip && return
    fi
    rm -rf "$venv"
    command -v uv >/dev/null 2>&1 && uv venv -q --seed --python "$1" "$venv" && return
    rm -rf "$venv"
    version=$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    echo "Python $version cannot make virtual environments: its ensurepip is missing." >&2
    echo "Install it (Debian and Ubuntu: apt install python$version-venv), or virtualenv, or uv." >&2
    exit 1
}

if ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    python=$(find_python)
    echo "making $venv with $("$python" --version)"
    rm -rf "$venv"
    create "$python"
fi
echo "installing Whence and its development tools into $venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
