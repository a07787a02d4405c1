# SPDX-License-Identifier: MIT
"""Writes the OCI bundle of container.sh:

    container.py DIR PROFILE ERRNO REFUSED FOLDER... -- CMD...

ERRNO, if not 0, is what the profile refuses with instead of its own; REFUSED
lists further calls to refuse, with commas between them.

The root is this file system's own folders, read-only; /tmp is the
container's. The profile is in the form that podman and docker read; here it
becomes what a runtime reads, for a container with no capabilities.
"""
import json
import os
import sys

CAPS: set = set()
ARCH = "amd64"


def applies(rule):
    inc, exc = rule.get("includes") or {}, rule.get("excludes") or {}
    if inc.get("caps") and not CAPS & set(inc["caps"]):
        return False
    if inc.get("arches") and ARCH not in inc["arches"]:
        return False
    if exc.get("caps") and CAPS & set(exc["caps"]):
        return False
    return ARCH not in (exc.get("arches") or [])


def seccomp(path, errno, refused):
    with open(path) as f:
        profile = json.load(f)
    keep = ("names", "action", "errnoRet", "args")
    rules = [{k: r[k] for k in keep if r.get(k)}
             for r in profile["syscalls"] if applies(r)]
    for r in rules:
        if r["action"] != "SCMP_ACT_ERRNO":
            r.pop("errnoRet", None)
        r["names"] = [n for n in r["names"] if n not in refused]
    rules = [r for r in rules if r["names"]]
    if errno:
        profile["defaultErrnoRet"] = errno
    out = {"defaultAction": profile["defaultAction"],
           "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86",
                             "SCMP_ARCH_X32"],
           "syscalls": rules}
    if profile.get("defaultErrnoRet"):
        out["defaultErrnoRet"] = profile["defaultErrnoRet"]
    return out


def bind(path, *options):
    return {"destination": path, "source": path, "type": "bind",
            "options": ["rbind", *options]}


def main():
    split = sys.argv.index("--")
    folder, profile, errno, refused, *extra = sys.argv[1:split]
    os.makedirs(os.path.join(folder, "rootfs"))
    mounts = [
        {"destination": "/proc", "type": "proc", "source": "proc"},
        {"destination": "/dev", "type": "tmpfs", "source": "tmpfs",
         "options": ["nosuid", "mode=755"]},
        {"destination": "/dev/shm", "type": "tmpfs", "source": "shm",
         "options": ["nosuid", "nodev", "mode=1777"]},
        {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs",
         "options": ["nosuid", "nodev", "mode=1777"]},
    ]
    # Merged or not, a link of the root stays a link.
    for name in ("bin", "lib", "lib64", "sbin"):
        if os.path.islink("/" + name):
            os.symlink(os.readlink("/" + name),
                       os.path.join(folder, "rootfs", name))
        elif os.path.isdir("/" + name):
            mounts.append(bind("/" + name, "ro"))
    mounts += [bind("/usr", "ro"), bind("/etc", "ro")]
    mounts += [bind(p, "ro") for p in extra]
    mounts.append({"destination": "/work.rw", "type": "bind",
                   "source": os.path.join(folder, "disk"),
                   "options": ["rbind", "rw"]})
    os.makedirs(os.path.join(folder, "disk"))
    os.chmod(os.path.join(folder, "disk"), 0o777)
    keep = {k: v for k, v in os.environ.items()
            if k.startswith("AU_") or k in ("ANYURING", "APPS", "INLINE")}
    keep.update(PATH="/usr/sbin:/usr/bin:/sbin:/bin", TMPDIR="/work.rw",
                HOME="/tmp", AU_APPS_REFUSED="1", AU_APPS_QUICK="1")
    config = {
        "ociVersion": "1.0.2",
        "root": {"path": "rootfs", "readonly": True},
        "process": {
            "terminal": False, "noNewPrivileges": True, "cwd": "/",
            "user": {"uid": 1000, "gid": 1000},
            "args": sys.argv[split + 1:],
            "env": [f"{k}={v}" for k, v in keep.items()],
            "capabilities": {},
        },
        "mounts": mounts,
        "linux": {
            "namespaces": [{"type": t} for t in
                           ("pid", "ipc", "uts", "mount", "network")],
            "seccomp": seccomp(profile, int(errno), refused.split(",")),
            "maskedPaths": ["/proc/kcore", "/proc/keys", "/proc/timer_list"],
            "readonlyPaths": ["/proc/sys", "/proc/bus", "/proc/irq"],
        },
    }
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump(config, f)


main()
