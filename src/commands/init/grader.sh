#!/usr/bin/env bash
# Grades one output: JSON on standard input, JSON on standard output, exit code 0. Needs jq.
#
# Test it alone:
#     echo '{"input":"test","output":"hello world","hint":"world"}' | ./grader.sh
set -euo pipefail

jq -c '
  (.hint // "") as $hint
  | ((.output // "") | ascii_downcase | contains($hint | ascii_downcase)) as $found
  | {
      pass: $found,
      score: (if $found then 1 else 0 end),
      reasoning: (if $found then "Output contains hint" else "Output lacks hint" end)
    }'
