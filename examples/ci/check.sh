#!/bin/sh
# Checks the suites of a folder (default: all): sh check.sh [FOLDER]
# With an API key what is new is asked, for at most a dollar a run; without one what is stored is replayed, and nothing is asked.
set -eu
suites=${1:-.}
evalrs validate "$suites"
if [ -n "${OPENAI_API_KEY:-}" ]; then
    evalrs run "$suites" --max-cost=1.00
else
    evalrs run "$suites" --frozen
fi
