#!/bin/sh
# Checks the suites of a folder (default: all): sh check.sh [FOLDER]
# With an API key it calls judges for new samples, for at most a dollar a run. Without one it replays stored judgments and makes no call.
set -eu
suites=${1:-.}
evalrs validate "$suites"
if [ -n "${OPENAI_API_KEY:-}" ]; then
    evalrs run "$suites" --max-cost=1.00
else
    evalrs run "$suites" --frozen
fi
