# The tasks of a contributor: `just` lists them. CI calls the same scripts.

_default:
    @just --list

# Everything that a change must pass, with the servers that tests talk with
ci:
    bash .ci/run

# The same, with what is installed already
check:
    bash .ci/check

# The tests, or those whose names hold FILTER
test *FILTER:
    cargo test {{FILTER}}

# The tests but those that kill, hang or draw: seconds, for the loop of an edit
quick *FILTER:
    cargo nextest run --profile quick {{FILTER}}

# Writes the snapshots of the tests anew; look at the diff
bless *FILTER:
    INSTA_UPDATE=always cargo test {{FILTER}}

# Writes the generated parts of docs/, and schema.json, out of declarations
docs:
    UPDATE_DOCS=1 cargo test --test it -- docs::generated

# The benches, against a plain loop
bench *NAME:
    cargo bench {{ if NAME == "" { "" } else { "--bench " + NAME } }}

# Formatting, lints, spelling, licences
lint:
    cargo fmt --check
    cargo clippy --all-targets -- -D warnings
    typos
    cargo deny check
