import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { WorkspaceSession } from '../../src/agents/workspace/workspace-session.ts';
import { commandOf, WorkspaceFixture } from '../support/workspace-fixture.ts';

const soon = (): AbortSignal => AbortSignal.timeout(120_000);
const PROGRAM = '/app/program.py';
const seenSchema = z.record(z.string(), z.unknown());

let fixture: WorkspaceFixture;
beforeAll(async () => (fixture = await WorkspaceFixture.open()));
afterAll(() => fixture[Symbol.asyncDispose]());

async function openSession(): Promise<WorkspaceSession> {
  return (await fixture.workspace()).session;
}

/** Runs a program that prints JSON, forked unless it is to be started by itself. */
async function see(session: WorkspaceSession, source: string, isForked = true): Promise<Record<string, unknown>> {
  await session.put([{ path: PROGRAM, content: Buffer.from(source), executable: false }], soon());
  const command = { ...commandOf(['/usr/bin/python3', '-I', PROGRAM]), input: Buffer.from('the input of one') };
  const { end, stdout, stderr } = await session.run({ ...command, ...(isForked ? { forkedWith: ['json', 'random'] } : {}) }, soon());
  expect([end, stderr.head.toString()]).toEqual([{ kind: 'exited', code: 0 }, '']);
  return seenSchema.parse(JSON.parse(stdout.head.toString()));
}

const IS_WARM = `import json, os, random, sys
warm = "warm_forked_python" in open("/proc/self/cmdline").read()
`;
const CONFINED = `${IS_WARM}
status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines())
names = ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Seccomp_filters", "Uid", "Gid", "Groups", "Umask"]
print(json.dumps({
    "warm": warm,
    "status": [status[name].split() for name in names],
    "namespaces": sorted(os.readlink("/proc/self/ns/" + name) for name in os.listdir("/proc/self/ns")),
    "groups": open("/proc/self/cgroup").read(),
    "limits": open("/proc/self/limits").read(),
    "mounts": open("/proc/self/mounts").read(),
    "descriptors": sorted(os.listdir("/proc/self/fd")),
    "processes": [name for name in os.listdir("/proc") if name.isdigit() and int(name) not in (1, os.getpid(), os.getppid())],
    "scheduled": [os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0), sorted(os.sched_getaffinity(0))],
    "place": [os.getcwd(), os.getsid(0) == os.getpid(), os.uname().nodename, sorted(os.environ), open("/proc/self/oom_score_adj").read()],
}))
`;

/** What would lead out of the sandbox, or to what all interpreters are forked from. Each has to fail. */
const ATTACKS = `${IS_WARM}
import ctypes, signal
libc = ctypes.CDLL(None, use_errno=True)
failed = {}
def attempt(name, deed):
    try: failed[name] = deed() in (-1, None)
    except OSError: failed[name] = True
def enter(pid, name):
    descriptor = os.open("/proc/%d/ns/%s" % (pid, name), os.O_RDONLY)
    return libc.setns(descriptor, 0)
parent = os.getppid()
for pid in (1, parent):
    for name in ("mnt", "user", "pid"): attempt("enter %s of %d" % (name, pid), lambda: enter(pid, name))
    for name in ("mem", "maps", "environ", "exe", "cwd/x", "root/x", "fd/3"): attempt("read %s of %d" % (name, pid), lambda: open("/proc/%d/%s" % (pid, name), "rb").read(1))
    attempt("trace %d" % pid, lambda: libc.ptrace(16, pid, 0, 0))
attempt("enter its own users", lambda: enter(os.getpid(), "user"))
attempt("unshare", lambda: libc.unshare(0x10000000))
attempt("mount", lambda: libc.mount(b"none", b"/tmp", b"tmpfs", 0, None))
attempt("write its interpreter", lambda: open("/proc/self/exe", "r+b"))
attempt("become root", lambda: libc.setuid(0))
attempt("find its parent's parent", lambda: -1 if open("/proc/%d/stat" % parent).read().rpartition(")")[2].split()[1] == "0" else 0)
for descriptor in range(3, 1024): attempt("use a descriptor", lambda: os.fstat(descriptor))
json.left, random.left, sys.left = "behind", "behind", "behind"
print(json.dumps({"warm": warm, "open": sorted(name for name, did in failed.items() if not did), "tried": len(failed)}), flush=True)
`;

/** Looks through all memory of the process for what only another process has had. */
const LOOKS = `${IS_WARM}
import re
def has(pattern):
    # A pattern, as the text that it stands for would find itself.
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
        for line in maps:
            span, rights = line.split()[:2]
            begin, end = (int(each, 16) for each in span.split("-"))
            if rights[0] == "r" and "[v" not in line:
                memory.seek(begin)
                if re.search(pattern, memory.read(end - begin)): return True
    return False
print(json.dumps({
    "warm": warm, "own": has(rb"WHAT [I]S ITS OWN"), "other": has(rb"WHAT [W]AS GIVEN"),
    "left": [hasattr(each, "left") for each in (json, random, sys)], "drawn": random.random(),
}))
own = "WHAT IS ITS OWN"
`;

describe('sandboxes whose interpreters are forked from one outside of them', () => {
  it('confine a program like one that is started inside, without access to the others', async () => {
    const session = await openSession();
    const [forked, again, started] = [await see(session, CONFINED), await see(session, CONFINED), await see(session, CONFINED, false)];
    expect([forked['warm'], again['warm'], started['warm']]).toEqual([true, true, false]);
    // The interpreter is still there.
    expect({ ...forked, warm: false, processes: ['2'] }).toEqual(started);
    expect(again).toEqual(forked);
    expect(forked).toMatchObject({ descriptors: ['0', '1', '2', '3'], processes: [] });
    const attacked = await see(await openSession(), ATTACKS);
    expect(attacked).toMatchObject({ warm: true, open: [], tried: expect.any(Number) });
    expect(attacked['tried']).toBeGreaterThan(25);
  });

  it('share nothing, whatever a program leaves behind or kills', async () => {
    const attacker = await openSession();
    const kept = `${IS_WARM}\nkept = [("WHAT WAS " + "GIVEN")[:] * 3, sys.stdin.read()] * 9\njson.left = random.left = sys.left = kept\nprint(json.dumps({"warm": warm}))`;
    expect(await see(attacker, kept)).toEqual({ warm: true });
    await attacker.put([{ path: PROGRAM, content: Buffer.from('import os\nos.kill(-1, 9)'), executable: false }], soon());
    const killing = { ...commandOf(['/usr/bin/python3', '-I', PROGRAM]), forkedWith: ['json', 'random'] };
    expect((await attacker.run(killing, soon())).end).toEqual({ kind: 'signalled', signal: 9 });
    // It has had its one: what follows is started inside.
    expect(await see(attacker, kept)).toEqual({ warm: false });
    const seen = [await see(await openSession(), LOOKS), await see(await openSession(), LOOKS)];
    const nothing = { warm: true, own: true, other: false, left: [false, false, false], drawn: expect.any(Number) };
    expect(seen).toEqual([nothing, nothing]);
    expect(seen[0]?.['drawn']).not.toBe(seen[1]?.['drawn']);
  });
});
