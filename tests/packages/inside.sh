# What `roots.py` runs inside a root. The packages are in /dist, this folder is /trial. Each step says `ok: ...`.
cd /root
has() { grep -qF -- "$1" "$2" || { echo "no '$1' in:"; cat "$2"; exit 1; }; }

# Only what the packages bring is here.
for program in gcc cutap; do
    command -v $program && exit 1
done
(cd /dist && sha256sum --quiet -c SHA256SUMS)
echo "ok: SHA256SUMS"

calls() { # calls NAME CUTAP...: this cutap works.
    name=$1
    shift
    "$@" --version >version
    has "cutap 0." version
    "$@" doctor >doctor || true
    has "a program on the simulated driver was traced" doctor
    # A program that knows nothing of CUDA, and one that makes calls of driver and static runtime.
    "$@" trace --sim -q -- /bin/true
    "$@" demo >demo 2>&1
    has "cuMemAlloc_v2(" demo
    "$@" record --sim -q --force --python -o run.cutap -- python3 /trial/train.py
    "$@" report --by line run.cutap >lines
    has "train.py:15 step " lines
    "$@" report --leaks --exit-code run.cutap >leaks && exit 1
    has "4 pieces of device memory, 16 MiB" leaks
    echo "ok: $name: $(cat version)"
}

dpkg -i /dist/cutap_*_amd64.deb >/dev/null
dpkg --verify cutap
calls "deb on glibc $(ldd --version | sed -n '1s/.* //p')" cutap
bash -n /usr/share/bash-completion/completions/cutap
has "#compdef cutap" /usr/share/zsh/vendor-completions/_cutap
has "complete" /usr/share/fish/vendor_completions.d/cutap.fish
zcat /usr/share/man/man1/cutap-record.1.gz >page
has "SYNOPSIS" page
has "License: Expat" /usr/share/doc/cutap/copyright
dpkg -r cutap >/dev/null
[ ! -e /usr/bin/cutap ]
echo "ok: completions and man pages; cutap removed"

mkdir there
tar -xzf /dist/cutap-*-x86_64-linux.tar.gz -C there
calls "tarball" there/*/bin/cutap

python3 -m venv venv
venv/bin/pip install -q --no-index --disable-pip-version-check /dist/cutap-*.whl
calls "wheel, $(venv/bin/python --version)" venv/bin/python -m cutap
venv/bin/python -m cutap record --sim -q --force --python /trial/train.py
venv/bin/python -c 'import cutap; assert len(cutap.open().calls(filter="cuMemAlloc_v2")) == 10'
echo "ok: module cutap"
echo "ok: all"
