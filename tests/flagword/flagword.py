#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""No store to a request's flag word may be narrower than the word.

Usage: flagword.py OBJDUMP SOURCE_ROOT OUTPUT_FOLDER CC [ARG]... [-- CC ...]...

Each source that can touch a request is compiled with a copy of core/req.h in
which `flags` stands far from the start and far from the other fields. In the
disassembly every access to it shows by its displacement, from the request as
from any of its members, and Intel syntax tells the width. The code is otherwise
what the compiler makes of the product.

What is checked is seen to work first: self_narrow.c must be found faulty with
every compiler, self_or.c with clang (which narrows it by itself), and the
stores of self_helpers.c must all be seen and found good.
"""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

BEFORE = 0x5A5A00  # from the start of the request to the word
AFTER = 0x3C3C00  # from the word to the next field
FIELDS = 256  # no more than this behind that
WORD = 8
WIDTH = {"BYTE": 1, "WORD": 2, "DWORD": 4, "QWORD": 8, "XMMWORD": 16,
         "YMMWORD": 32}
LEVEL = "-O2"
FLAGS = ["-std=gnu11", "-D_GNU_SOURCE", '-DAU_VERSION="0"', "-fPIC",
         "-fno-strict-aliasing", "-fno-common", "-fvisibility=hidden",
         "-fno-semantic-interposition", "-w"]

# They have memory as their first operand and do not write to it.
READERS = re.compile(r"(cmp|test|bt|push|call|jmp|mul|imul|div|idiv|nop|"
                     r"prefetch\w*|comis[sd]|ucomis[sd]|bound)$")


def moved_header(root, out):
    """The copy of core/req.h with `flags` where nothing else is."""
    with open(os.path.join(root, "src/core/req.h")) as f:
        text = f.read()
    text, n = re.subn(r"(struct au_req \{\n)",
                      r"\1\tchar flagword_probe[%#x];\n" % BEFORE, text)
    assert n == 1, "struct au_req is not where it was"
    # The layout it asserts is the product's, not the probe's.
    text, n = re.subn(r"^_Static_assert\([^;]*struct au_req[^;]*;\n", "", text,
                      flags=re.M)
    assert n >= 1, "no assertion on struct au_req"
    text, n = re.subn(r"(flagword_probe[^\n]*\n(?:\s*/\*[^\n]*\n)*"
                      r"\s*uint64_t flags;[^\n]*\n)",
                      r"\1\tchar flagword_gap[%#x];\n" % AFTER, text)
    assert n == 1, "flags is not the first field"
    os.makedirs(os.path.join(out, "core"), exist_ok=True)
    with open(os.path.join(out, "core/req.h"), "w") as f:
        f.write(text)


def place(disp):
    """Where in the word (or shortly before) a displacement points; or None."""
    at = disp - BEFORE
    if -32 < at < WORD:
        return at
    # From a member behind the gap; those are aligned as the word is.
    if -(AFTER + WORD + FIELDS) <= disp < -AFTER:
        return disp % WORD
    return None


def stores(objdump, obj):
    """(function, instruction, bytes before the word, width) of each store."""
    dis = subprocess.run([objdump, "-d", "-M", "intel", "-w",
                          "--no-show-raw-insn", obj], check=True,
                         capture_output=True, text=True).stdout
    function, pointers = "?", set()
    for line in dis.splitlines():
        m = re.match(r"[0-9a-f]+ <(.*)>:", line)
        if m:
            function, pointers = m.group(1), set()
            continue
        m = re.match(r"\s*[0-9a-f]+:\s+(?:(?:lock|rep|data16)\s+)*(\S+)\s*(.*)",
                     line)
        if not m:
            continue
        name, operands = m.groups()
        first = operands.split(",")[0]
        # Registers that hold the word's address, until they are written.
        m = re.search(r"\[([^\]]*?)(?:([+-])0x([0-9a-f]+))?\]$", operands)
        if name == "lea" and m and m.group(3):
            if place(int(m.group(2) + m.group(3), 16)) == 0:
                pointers.add(first)
                continue
        m = re.search(r"\[([^\]]*?)(?:([+-])0x([0-9a-f]+))?\]", first)
        if m and not READERS.match(name):
            disp = int((m.group(2) or "+") + (m.group(3) or "0"), 16)
            at = place(disp)
            if m.group(1) in pointers and -32 < disp < WORD:
                at = disp
            if at is not None:
                size = re.match(r"(\w+) PTR", first)
                width = WIDTH.get(size.group(1), 0) if size else 0
                if name.startswith("set"):
                    width = 1
                if at + max(width, 1) > 0:
                    yield function, line.strip(), at, width
        pointers.discard(first)


def good(at, width):
    return at <= 0 and at + width >= WORD


def look(objdump, cc, root, out, source):
    """Compiles one source: (number of stores to the word, the bad ones)."""
    obj = os.path.join(out, os.path.basename(source) + ".probe.o")
    cmd = cc + FLAGS + [LEVEL, "-iquote", out, "-iquote",
                        os.path.join(root, "src"),
                        "-I", os.path.join(root, "include"), "-c", source,
                        "-o", obj]
    subprocess.run(cmd, check=True)
    found = list(stores(objdump, obj))
    os.unlink(obj)
    return len(found), [s for s in found if not good(s[2], s[3])]


def self_test(objdump, cc, root, out, clang):
    here = os.path.dirname(os.path.abspath(__file__))

    def of(name):
        return look(objdump, cc, root, out, os.path.join(here, name))

    n, bad = of("self_narrow.c")
    assert len(bad) >= 5, f"self_narrow.c: {len(bad)} of {n} found faulty"
    n, bad = of("self_or.c")
    assert bad or not clang, "self_or.c: clang narrows no more?"
    n, bad = of("self_helpers.c")
    assert n >= 4 and not bad, f"self_helpers.c: {n} stores, {bad}"


def assignments(root):
    """Assignments that go past the helpers; one, of a new request, may."""
    found = []
    for folder, _, names in os.walk(os.path.join(root, "src")):
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), root)
            if not name.endswith((".c", ".h")) or path.endswith("core/req.h"):
                continue
            with open(os.path.join(root, path), errors="replace") as f:
                for nr, line in enumerate(f, 1):
                    if re.search(r"\breq->flags\s*([|&^+-]|<<|>>)?=[^=]", line):
                        found.append((path, nr, line.strip()))
    return [f for f in found if not (f[0] == "src/core/submit.c" and
                                     "req->flags = head.flags;" in f[2])]


def sources(root):
    """Every source that can touch a request."""
    for folder in ("core", "engine", "ops"):
        top = os.path.join(root, "src", folder)
        for name in sorted(os.listdir(top)):
            if name.endswith(".c"):
                yield os.path.join(top, name)


def main():
    objdump, root, out = sys.argv[1:4]
    compilers, cc = [], []
    for arg in sys.argv[4:] + ["--"]:
        if arg == "--":
            compilers.append(cc)
            cc = []
        else:
            cc.append(arg)
    failed = 0
    for path, nr, line in assignments(root):
        print(f"{path}:{nr}: not by a helper: {line}")
        failed += 1
    moved_header(root, out)
    for cc in compilers:
        target = subprocess.run(cc + ["-dumpmachine"], check=True,
                                capture_output=True, text=True).stdout
        if not target.startswith("x86_64"):
            print("reads x86-64 only, not " + target.strip())
            return 77
        version = subprocess.run(cc + ["--version"], check=True,
                                 capture_output=True, text=True).stdout
        self_test(objdump, cc, root, out, "clang" in version)
        total = 0
        with ThreadPoolExecutor(2) as pool:
            looks = {s: pool.submit(look, objdump, cc, root, out, s)
                     for s in sources(root)}
        for source, result in looks.items():
            n, bad = result.result()
            total += n
            for function, line, at, width in bad:
                print(f"{os.path.relpath(source, root)}: {function}: "
                      f"{width} bytes at {at}: {line}")
                failed += 1
        print(f"{version.splitlines()[0]}: {total} stores")
        if total < 20:
            print("too few: the probe does not see them")
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
