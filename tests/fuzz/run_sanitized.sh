#!/bin/sh
# Runs the fuzzers on a build with AddressSanitizer, UndefinedBehaviorSanitizer and Cython's bounds checks.
#   tests/fuzz/run_sanitized.sh [EXECUTIONS [SEED [PYTHON]]]
# The build goes to a temporary folder and leaves the ordinary one alone. Needs gcc and Linux.
set -eu
executions=${1:-10000}
seed=${2:-1}
root=$(cd "$(dirname "$0")/../.." && pwd)
python=${3:-$root/.venv/bin/python}
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT

# the package as it is when installed: pipelines, schemas and models inside covington
cp -r "$root/covington" "$build/covington"
find "$build/covington" -name '*.pyx' | sed 's/\.pyx$//' | while read -r module; do rm -f "$module.c" "$module".*.so; done
cp -r "$root/pipelines" "$root/schemas" "$root/models" "$build/covington/"
cp -r "$root/pyproject.toml" "$root/setup.py" "$root/README.md" "$root/LICENSE" "$root/models" "$build/"
mkdir "$build/tests"
cp -r "$root"/tests/*.py "$root/tests/support" "$root/tests/fuzz" "$build/tests/"

cd "$build"
COVINGTON_DEBUG=1 CC=gcc \
    CFLAGS="-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer" \
    LDFLAGS="-fsanitize=address,undefined" \
    "$python" setup.py -q build_ext --inplace

export PYTHONPATH="$build"
# libstdc++ too, or the sanitizer does not find out how pyarrow throws its exceptions
LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libstdc++.so.6)"
export LD_PRELOAD
export ASAN_OPTIONS=detect_leaks=0:abort_on_error=1  # the interpreter itself leaks at exit
export UBSAN_OPTIONS=print_stacktrace=1
input=${TMPDIR:-/tmp}/covington-fuzz-input
if ! "$python" -m tests.fuzz --executions "$executions" --seed "$seed" --keep "$input"; then
    echo "the input that was being tried is in $input: put it into tests/fuzz/corpus when the fault is mended"
    exit 1
fi
rm -f "$input"
