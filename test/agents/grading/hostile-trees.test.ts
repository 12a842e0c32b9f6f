import { describe, expect, it } from 'vitest';
import { extent } from '../../support/full-form.ts';
import { SORT_TASK, GradingFixture } from '../../support/grading-fixture.ts';

/** Left behind in each directory that can be written to, by every run of a candidate that is right besides. */
const HOSTILE_TREES = (files: number, depth: number): string => `import os, socket, struct, sys
for base in ("/app", "/tmp", "/dev/shm", "/logs", "/driver"):
    os.makedirs(base + "/locked/inner")
    denied = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", tag, 0, 0xffffffff) for tag in (1, 4, 32))
    os.setxattr(base + "/locked/inner", "system.posix_acl_default", denied)
    os.chmod(base + "/locked/inner", 0)
    os.chmod(base + "/locked", 0)
    for name in (b"\\xff\\xfe", b"a\\nb", b"x" * 255, b"-rf"):
        os.makedirs(os.fsencode(base) + b"/" + name + b"/" + name)
    os.symlink("/", base + "/root")
    os.symlink("loop", base + "/loop")
    os.mkfifo(base + "/pipe")
    socket.socket(socket.AF_UNIX).bind(base + "/socket")
    os.mkdir(base + "/many")
    for number in range(${files}):
        os.link(base + "/many/0", base + "/many/%d" % number) if number else open(base + "/many/0", "w").close()
    os.chdir(base)
    for _ in range(${depth}):
        os.mkdir("deep")
        os.chdir("deep")
    os.chdir("/")
    for path in (base, "/usr", "/proc/self/mem"):
        try:
            os.chmod(path, 0)
        except OSError:
            sys.stderr.write("kept ")
    sys.stderr.write("left ")
try:
    with open("/dev/shm/full", "wb") as file:
        while True:
            file.write(bytes(1 << 20))
except OSError:
    sys.stderr.write("full ")
def sort_numbers(numbers):
    return sorted(numbers)
`;

describe('a candidate that leaves hostile trees behind', () => {
  it('is judged by its answers, and none of its runs gets in the way of the next', async () => {
    await using fixture = await GradingFixture.open();
    const task = await fixture.task({
      ...SORT_TASK,
      'task.toml': (SORT_TASK['task.toml'] ?? '').replace('timeout_sec = 60', 'timeout_sec = 600'),
      'muster.toml': (SORT_TASK['muster.toml'] ?? '').replace('seconds = 5', 'seconds = 60'),
    });
    const trees = HOSTILE_TREES(extent({ short: 200, full: 20_000 }), extent({ short: 100, full: 1000 }));
    const { verdict } = await fixture.verdict(task, { 'sort.py': trees });
    expect(verdict).toMatchObject({ reward: 1, problem: null });
    const executed = verdict.evidence.find(({ stage }) => stage === 'execute');
    const runs = executed && 'cases' in executed && executed.stage === 'execute' ? executed.cases.flatMap((one) => one.runs) : [];
    expect(runs).toHaveLength(5);
    expect(runs.map(({ errors }) => [errors.match(/left/g)?.length, errors.endsWith('full ')])).toEqual(runs.map(() => [5, true]));
  });
});
