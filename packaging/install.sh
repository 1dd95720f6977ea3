#!/bin/sh
# Installs unforget @VERSION@ into ~/.local/bin, or into the folder that UNFORGET_INSTALL names.
set -eu

version=@VERSION@
url=${UNFORGET_URL:-@URL@}
folder=${UNFORGET_INSTALL:-$HOME/.local/bin}

fail() {
  echo "error: $1" >&2
  exit 1
}

case $(uname -s) in
  Linux) system=unknown-linux-gnu ;;
  Darwin) system=apple-darwin ;;
  *) fail "there is no package for $(uname -s)" ;;
esac
case $(uname -m) in
  x86_64 | amd64) machine=x86_64 ;;
  aarch64 | arm64) machine=aarch64 ;;
  *) fail "there is no package for $(uname -m)" ;;
esac

name=unforget-$version-$machine-$system
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for file in "$name.tar.gz" SHA256SUMS; do
  curl -fsSL "$url/$file" -o "$work/$file" || fail "$url/$file cannot be fetched"
done
if command -v sha256sum >/dev/null; then sum="sha256sum"; else sum="shasum -a 256"; fi
(cd "$work" && grep " $name.tar.gz\$" SHA256SUMS | $sum -c -) >/dev/null ||
  fail "$name.tar.gz is not what SHA256SUMS says; nothing was installed"
tar -xzf "$work/$name.tar.gz" -C "$work"
mkdir -p "$folder"
cp "$work/$name/unforget" "$folder/unforget.new"
mv "$folder/unforget.new" "$folder/unforget"
echo "unforget $version is in $folder"
case ":$PATH:" in
  *":$folder:"*) ;;
  *) echo "$folder is not on your PATH" ;;
esac
