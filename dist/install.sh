#!/bin/sh
# Installs evalrs for this user, or removes it: sh install.sh [--uninstall]
#
# It fetches the archive of this platform, compares its checksum and unpacks it. It changes nothing else: it configures no shell and
# installs nothing as another user.
#
#   EVALRS_RELEASES     where the archives and SHA256SUMS are: an address, or a folder
#   EVALRS_INSTALL_DIR  where the binary goes (default: ~/.local/bin)
set -eu

# dist/build and the release workflow write the address here.
releases=${EVALRS_RELEASES:-@RELEASES@}
folder=${EVALRS_INSTALL_DIR:-${HOME:?}/.local/bin}

fail() {
    echo "install.sh: $*" >&2
    exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

target() {
    machine=$(uname -m)
    case $machine in
    x86_64 | amd64) machine=x86_64 ;;
    aarch64 | arm64) machine=aarch64 ;;
    *) fail "there is no archive for the processor \`$machine\`: build it with \`cargo install --locked --path .\`" ;;
    esac
    case $(uname -s) in
    Linux) echo "$machine-unknown-linux-musl" ;;
    Darwin) echo "$machine-apple-darwin" ;;
    *) fail "there is no archive for \`$(uname -s)\`: use pip, npm or cargo" ;;
    esac
}

# Fetches an address into a file: fetch ADDRESS FILE
fetch() {
    case $1 in
    http://127.0.0.1* | https://*)
        if has curl; then
            curl --proto '=https,http' --proto-redir '=https' --fail --silent --show-error --location --output "$2" "$1"
        elif has wget; then
            # It has no flag for that, but logs redirections.
            wget -S -O "$2" "$1" 2>"$2.log" || return 1
            ! grep -qi '^ *location: *http:' "$2.log" || fail "\`$1\` leads to an address that is not encrypted"
        else
            fail "needs curl or wget"
        fi
        ;;
    http://*) fail "\`$1\` is not encrypted: name an address with https" ;;
    *) cp "${1#file://}" "$2" ;;
    esac
}

check() {
    if has sha256sum; then
        sha256sum -c "$1" >/dev/null
    elif has shasum; then
        shasum -a 256 -c "$1" >/dev/null
    else
        fail "needs sha256sum or shasum, to compare the archive with its checksum"
    fi
}

uninstall() {
    [ -f "$folder/evalrs" ] || fail "there is no \`$folder/evalrs\`"
    rm "$folder/evalrs"
    echo "removed $folder/evalrs"
}

install() {
    case $releases in @*) fail "this copy names no release: set EVALRS_RELEASES to the address of its archives" ;; esac
    has tar || fail "needs tar"
    platform=${EVALRS_TARGET:-$(target)}
    archive=evalrs-$platform.tar.gz
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    fetch "$releases/SHA256SUMS" "$work/SHA256SUMS" || fail "cannot fetch $releases/SHA256SUMS"
    # On Linux `dist/build` links the C library of its machine. Releases have a static archive for all of them.
    if [ -z "${EVALRS_TARGET:-}" ] && ! grep -q " [ *]$archive\$" "$work/SHA256SUMS"; then
        case $platform in *-linux-musl) platform=${platform%musl}gnu ;; esac
        archive=evalrs-$platform.tar.gz
    fi
    grep " [ *]$archive\$" "$work/SHA256SUMS" >"$work/sum" || fail "$releases has no archive for $platform"
    fetch "$releases/$archive" "$work/$archive" || fail "cannot fetch $releases/$archive"
    (cd "$work" && check sum) || fail "$archive is not what SHA256SUMS says: nothing was installed"
    tar -xzf "$work/$archive" -C "$work"
    mkdir -p "$folder"
    # Beside it first, so that a running evalrs is replaced and never overwritten.
    cp "$work/evalrs-$platform/evalrs" "$folder/evalrs.new"
    chmod 755 "$folder/evalrs.new"
    mv "$folder/evalrs.new" "$folder/evalrs"
    echo "installed $("$folder/evalrs" --version) as $folder/evalrs"
    case :$PATH: in
    *":$folder:"*) ;;
    *) echo "add it to the path: export PATH=\"$folder:\$PATH\"" ;;
    esac
}

case ${1:-} in
'') install ;;
--uninstall) uninstall ;;
*) fail "unknown argument \`$1\`: it takes \`--uninstall\`, or nothing" ;;
esac
