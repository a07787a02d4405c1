#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Description: list the names that two io_uring headers have in common.

usage: uapi_list.py OURS THEIRS OUTPUT COMPILER...

THEIRS is named as in an #include; the compiler knows where it is. Writes one
line a name, to be expanded by uapi_probe.c: VALUE(name) for macros and
enumerators, SIZE(struct), FIELD(struct, member) and, for arrays without a
bound, FLEX(struct, member); what only THEIRS has, as comments. Only text is
read here; what a name is worth says the compiler, which sees each header by
itself.
"""
import re
import subprocess
import sys

# Grows with every release: the one thing that may differ.
GROWING = re.compile(r'\w+_LAST$')
# Shrinks as later releases find a use for it.
RESERVED = re.compile(r'(pad|resv)\d*$')


def strip(text):
    text = re.sub(r'/\*.*?\*/', ' ', text, flags=re.S)
    text = re.sub(r'//[^\n]*', ' ', text)
    return text.replace('\\\n', ' ')


def matching_brace(text, start):
    depth = 0
    for i in range(start, len(text)):
        depth += {'{': 1, '}': -1}.get(text[i], 0)
        if depth == 0:
            return i
    raise ValueError('unbalanced braces')


def members(body):
    """Yield (name, flexible) for a struct's body, anonymous parts included."""
    pos = 0
    while pos < len(body):
        end = body.find(';', pos)
        if end < 0:
            return
        brace = body.find('{', pos)
        if 0 <= brace < end:
            close = matching_brace(body, brace)
            end = body.index(';', close)
            name = re.sub(r'__attribute__\s*\(\(.*?\)\)', '',
                          body[close + 1:end]).strip()
            if name:
                yield re.match(r'\w+', name).group(), False
            else:
                yield from members(body[brace + 1:close])
        else:
            decl = body[pos:end].strip()
            flex = re.match(r'__DECLARE_FLEX_ARRAY\(.*?,\s*(\w+)\)', decl)
            plain = re.search(r'(\w+)\s*(\[[^\]]*\])?$', decl)
            if flex:
                yield flex.group(1), True
            elif plain:
                yield plain.group(1), plain.group(2) in ('[]', '[0]')
        pos = end + 1


def read(path):
    with open(path, encoding='utf-8') as f:
        text = strip(f.read())
    values = set(re.findall(r'^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+\S', text,
                            flags=re.M))
    text = re.sub(r'^[ \t]*#.*$', '', text, flags=re.M)
    for body in re.findall(r'\benum\b\s*\w*\s*\{(.*?)\}', text, flags=re.S):
        values |= set(re.findall(r'(?:^|,)\s*(\w+)', body))

    structs = {}
    for m in re.finditer(r'\bstruct\s+(\w+)\s*\{', text):
        body = text[m.end():matching_brace(text, m.end() - 1)]
        structs[m.group(1)] = dict(members(body))
    return {v for v in values if not GROWING.match(v)}, structs


def find(name, compiler):
    deps = subprocess.run(
        compiler + ['-M', '-x', 'c', '-include', 'linux/time_types.h', '-'],
        input=f'#include <{name}>', capture_output=True, check=True,
        text=True).stdout
    return next(d for d in deps.split() if d.endswith('/' + name))


def main():
    ours_values, ours = read(sys.argv[1])
    theirs_values, theirs = read(find(sys.argv[2], sys.argv[4:]))
    with open(sys.argv[3], 'w', encoding='utf-8') as out:
        for name in sorted(ours_values & theirs_values):
            print(f'VALUE({name})', file=out)
        for struct in sorted(ours.keys() & theirs.keys()):
            print(f'SIZE({struct})', file=out)
            both = ours[struct].keys() & theirs[struct].keys()
            for name in sorted(n for n in both if not RESERVED.match(n)):
                flex = ours[struct][name] or theirs[struct][name]
                kind = 'FLEX' if flex else 'FIELD'
                print(f'{kind}({struct}, {name})', file=out)
        for name in sorted(theirs_values - ours_values):
            print(f'/* only theirs: {name} */', file=out)
        for name in sorted(theirs.keys() - ours.keys()):
            print(f'/* only theirs: struct {name} */', file=out)


main()
