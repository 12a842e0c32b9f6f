import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CommandResult } from '../../../src/agents/workspace/command.ts';
import { runSeries, type SeriesResults, type SeriesRun } from '../../../src/agents/workspace/series.ts';
import type { WorkspaceSession } from '../../../src/agents/workspace/workspace-session.ts';
import { commandOf, WorkspaceFixture } from '../../support/workspace-fixture.ts';

const soon = (): AbortSignal => AbortSignal.timeout(120_000);
const PROGRAM = '/app/program.py';

let fixture: WorkspaceFixture;
let session: WorkspaceSession;
beforeAll(async () => {
  fixture = await WorkspaceFixture.open();
  ({ session } = await fixture.workspace());
});
afterAll(() => fixture[Symbol.asyncDispose]());

async function run(source: string, isForked: boolean, words: readonly string[] = []): Promise<CommandResult> {
  await session.put([{ path: PROGRAM, content: Buffer.from(source), executable: false }], soon());
  const argv = ['/usr/bin/python3', '-I', PROGRAM, ...words];
  const forked = isForked ? { forkedWith: ['json', 'random', 'app_has_no_such_module'] } : {};
  return await session.run({ ...commandOf(argv), input: Buffer.from('given\n'), ...forked }, soon());
}

const texts = ({ end, stdout, stderr }: CommandResult): unknown => [end, stdout.head.toString(), stderr.head.toString()];

/** What a program may do, and what differs between two processes: its number. */
const PROGRAMS: readonly (readonly [string, string])[] = [
  [
    'prints, and has arguments and an input',
    'import sys\nprint(sys.argv, sys.stdin.read(), __name__, __file__, sys.path[:1], sys.flags.isolated)',
  ],
  ['ends with a status', 'import sys\nprint("out")\nsys.exit(3)'],
  ['ends with a text', 'import sys\nsys.exit("why")'],
  ['raises', 'def fail():\n    raise ValueError("no")\nfail()'],
  ['cannot be compiled', 'print("a"\n'],
  ['is not there', ''],
  ['leaves a file open', 'import os\nf = open("/app/left", "w")\nf.write("all of it")\nif os.fork() == 0: os._exit(0)\nos.wait()'],
  [
    'has work left for its end',
    'import atexit, threading, time\natexit.register(print, "last")\nthreading.Thread(target=lambda: (time.sleep(.1), print("thread"))).start()\nclass End:\n    def __del__(self): print("gone")\nend = End()',
  ],
  ['kills itself', 'import os\nos.kill(os.getpid(), 9)'],
  [
    'opens what /proc says of it',
    'import os\nprint(open("/proc/self/fd/0").read(), sorted(os.listdir("/proc/self/fd")), os.environ["HOME"], os.getcwd(), os.getsid(0) == os.getpid())',
  ],
  [
    'imports what has not been imported',
    'import ctypes, decimal, multiprocessing, subprocess\nprint(ctypes.CDLL(None).getpid() > 0, subprocess.run(["echo", "child"], capture_output=True).stdout)',
  ],
];

describe('a Python program that is forked from an interpreter', () => {
  it.each(PROGRAMS)('does what it does when it is started by itself: one that %s', async (name, source) => {
    const results: CommandResult[] = [];
    for (const isForked of [true, true, false]) {
      if (name === 'is not there') {
        const argv = ['/usr/bin/python3', '-I', '/app/missing.py'];
        results.push(await session.run({ ...commandOf(argv), ...(isForked ? { forkedWith: [] } : {}) }, soon()));
      } else results.push(await run(source, isForked));
      if (name !== 'leaves a file open') continue;
      const left = await session.collect(['/app/left'], { files: 1, bytes: 100 }, soon());
      expect(left).toMatchObject({ kind: 'collected', files: [{ content: Buffer.from('all of it') }] });
      await session.wipe('/app', soon());
    }
    const [first, again, plain] = results.map(texts);
    expect(first).toEqual(plain);
    expect(again).toEqual(plain);
  });

  it('cannot reach the interpreter that it was forked from, and runs in one process alone', async () => {
    const source = `import os, random
own = os.getpid()
others = [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) not in (1, own)]
for pid in others:
    for name in ("mem", "environ", "maps"):
        try: open(f"/proc/{pid}/{name}", "rb+" if name == "mem" else "rb").read(1)
        except OSError as error: print(error.strerror)
    try: os.listdir(f"/proc/{pid}/fd")
    except OSError as error: print(error.strerror)
print(len(others), "forked_python" in open("/proc/self/cmdline").read(), sorted(os.listdir("/proc/self/fd")), others == [os.getppid()])
print(random.random())
`;
    const [one, other] = [await run(source, true), await run(source, true)].map(({ stdout }) => stdout.head.toString());
    const denied = 'Permission denied\n'.repeat(4);
    expect(one?.slice(0, one.lastIndexOf('\n', one.length - 2))).toBe(`${denied}1 True ['0', '1', '2', '3'] True`);
    expect(one).not.toBe(other);
  });

  it.each([
    ['kills it', 'os.kill(pid, 9)'],
    ['stops it', 'os.kill(pid, 19)'],
    ['interrupts it', 'os.kill(pid, 2)'],
    ['makes it nice', 'os.setpriority(os.PRIO_PROCESS, pid, 19)'],
    ['makes it wait for an idle machine', 'os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))'],
    ['pins it', 'os.sched_setaffinity(pid, {min(os.sched_getaffinity(0))})'],
    ['limits it', 'import resource\n    try: resource.prlimit(pid, resource.RLIMIT_NOFILE, (8, 8))\n    except OSError: pass'],
    [
      'takes its number',
      'import itertools\n    os.kill(pid, 9)\n    if os.fork() == 0:\n        os.setsid()\n        while True: open("/app/late", "w").close()',
    ],
    [
      'leaves what hides from a look',
      'import signal\n    signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n    if os.fork() == 0:\n        while True:\n            if os.fork() != 0: os._exit(0)',
    ],
  ])('may do to it what it can, and later runs are as the first was: one that %s', async (deed, source) => {
    const look = `import os, resource
print(os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0), len(os.sched_getaffinity(0)), resource.getrlimit(resource.RLIMIT_NOFILE))
print(os.path.exists("/app/late"), "forked_python" in open("/proc/self/cmdline").read())`;
    const before = texts(await run(look, true));
    const did = await run(
      `import os\nfor pid in [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) not in (1, os.getpid())]:\n    ${source}\nprint("done")`,
      true,
    );
    expect(did.stdout.head.toString()).toContain('done');
    expect(did.end.kind).toBe(['kills it', 'stops it', 'takes its number'].includes(deed) ? 'signalled' : 'exited');
    await session.wipe('/app', soon());
    expect(texts(await run(look, true))).toEqual(before);
    expect(texts(await run(look, true))).toEqual(before);
  });

  it('is started by itself if it could have changed its interpreter or the modules that this loads', async () => {
    const source = 'import os\nprint("forked" + "_python" in open("/proc/self/cmdline").read())';
    await session.put([{ path: PROGRAM, content: Buffer.from(source), executable: false }], soon());
    await session.run(commandOf(['/bin/cp', '/usr/bin/python3', '/app/python3']), soon());
    const printed = async (...argv: string[]): Promise<string> =>
      (await session.run({ ...commandOf(argv), forkedWith: [] }, soon())).stdout.head.toString();
    expect(await printed('/usr/bin/python3', '-I', PROGRAM)).toBe('True\n');
    expect(await printed('/usr/bin/python3', PROGRAM)).toBe('False\n');
    expect(await printed('/app/python3', '-I', PROGRAM)).toBe('False\n');
    expect(await printed('/usr/bin/python3', '-I', '-c', source)).toBe('False\n');
  });

  it('has the same result when it is trusted, and its runs follow each other without checks between them', async () => {
    const source = `import os, sys
deed, given = sys.argv[1], sys.stdin.read()
print(deed, given, os.listdir("."), os.environ["MUSTER_OF_ALL"], sorted(os.listdir("/proc/self/fd"))[:3])
if given == "0": sys.exit("a file" if os.path.isfile("/proc/self/fd/1") else "no file")
if deed == "leave": open("left", "w").close()
if deed == "fail": sys.exit("why")
if deed == "kill": os.kill(os.getppid(), 9)
if deed == "flood": sys.stdout.write("x" * 3_000_000)
if deed == "hang":
    while True: os.read(os.pipe()[0], 1)
`;
    const deeds = ['print', 'fail', 'leave', 'print', 'kill', 'print', 'flood', 'print'];
    const place = await fixture.workspace({ writable: ['/app', '/tests'] });
    await place.session.put([{ path: '/tests/program.py', content: Buffer.from(source), executable: false }], soon());
    const command = { ...commandOf(['/usr/bin/python3', '-I', '/tests/program.py']), seconds: 60, forkedWith: ['json'] };
    const own = { directory: '/app', environment: { MUSTER_OF_ALL: 'one' }, output: { head: 100, tail: 10, most: 1_000_000 } };
    const runOf = (deed: string, at = 1): SeriesRun => ({ arguments: [deed], input: Buffer.from(`${at}`), files: [] });
    const series = {
      command: { ...command, ...own },
      wiped: ['/app'],
      files: [],
      runs: deeds.map(runOf),
      taken: undefined,
      within: 600,
    };
    const [trusted, looked] = [
      await runSeries(place.session, { ...series, trusted: true }, soon()),
      await runSeries(place.session, { ...series, trusted: false }, soon()),
    ];
    const told = ({ runs }: SeriesResults): readonly (readonly unknown[])[] =>
      runs.map(({ result }) => [texts(result), result.stdout.tail.toString()]);
    const [[, ...others], [, ...lookedAfter]] = [told(trusted), told(looked)];
    expect(others).toEqual(lookedAfter);
    expect([trusted, looked].map(({ runs: [first] }) => first?.result.stderr.head.toString())).toEqual(['a file\n', 'no file\n']);
    const ends = trusted.runs.map(({ result: { end } }) => (end.kind === 'exited' ? end.code : end.kind));
    expect(ends).toEqual([1, 1, 0, 0, 'signalled', 0, 'output-limit', 0]);
    const endless = { ...series, command: { ...series.command, seconds: 0.5 }, runs: ['hang', 'hang'].map((deed) => runOf(deed)) };
    const { runs: late } = await runSeries(place.session, { ...endless, trusted: true }, soon());
    expect(late.map(({ result: { end } }) => end.kind)).toEqual(['timeout', 'timeout']);
  });

  it('has the same result in one process if it can leave nothing for its next run', async () => {
    const source = `import functools, sys
count = 0
@functools.lru_cache(maxsize=None)
def double(number):
    global count
    count += 1
    return 2 * number
def endless(depth):
    return endless(depth + 1)
def count_up():
    try:
        yield 1
    finally:
        print("the end")
begun = count_up()
print(sys.argv, repr(sys.stdin.readline()), double(2), count, next(begun), sys.stdin.encoding, sys.stdout.errors)
print("one", file=sys.stderr)
deed = sys.argv[1]
if deed == "exit": sys.exit(3)
if deed == "say": sys.exit("why")
if deed == "raise": raise ValueError("no")
if deed == "recurse":
    try: endless(0)
    except RecursionError as error: print(error)
if deed == "close": sys.stdin.close()
if deed == "flood": sys.stdout.write("x" * 3_000_000)
print(repr(sys.stdin.read()) if deed != "close" else "closed", double(2), count)
`;
    const place = await fixture.workspace({ writable: ['/app', '/tests'] });
    const put = (path: string, text: string): Promise<void> =>
      place.session.put([{ path, content: Buffer.from(text), executable: false }], soon());
    await put('/tests/program.py', source);
    await put('/tests/number.py', 'import os\nprint(os.getpid())');
    const command = { ...commandOf(['/usr/bin/python3', '-I', '/tests/program.py']), forkedWith: ['functools', 'sys'] };
    const series = (deeds: readonly string[], trusted: boolean): Promise<SeriesResults> => {
      const runs = deeds.map((deed, at) => ({ arguments: [deed], input: Buffer.from(`one ${at}\r\ntwo\r\n`), files: [] }));
      const output = { head: 4000, tail: 10, most: 1_000_000 };
      const terms = { wiped: ['/app'], files: [], taken: undefined, within: 600, trusted, runs };
      return runSeries(place.session, { ...terms, command: { ...command, output, seconds: 60 } }, soon());
    };
    const deeds = ['print', 'exit', 'say', 'raise', 'recurse', 'close', 'print'];
    const [trusted, looked] = [await series(deeds, true), await series(deeds, false)];
    expect(trusted.runs.map(({ result }) => texts(result))).toEqual(looked.runs.map(({ result }) => texts(result)));
    const ends = ({ runs }: SeriesResults): readonly unknown[] =>
      runs.map(({ result: { end } }) => (end.kind === 'exited' ? end.code : end.kind));
    expect(ends(trusted)).toEqual([0, 3, 1, 1, 0, 0, 0]);
    const numbers: number[] = [];
    for (const isTrusted of [true, false]) {
      await series(['print', 'print', 'print', 'print'], isTrusted);
      const numbered = { ...command, argv: ['/usr/bin/python3', '-I', '/tests/number.py'] };
      numbers.push(Number((await place.session.run(numbered, soon())).stdout.head.toString()));
    }
    const [first = 0, second = 0] = numbers;
    // Four runs and the one that tells its number; before that, one process and it.
    expect(second - first).toBe(5);
    expect(ends(await series(['print', 'flood', 'print', 'print'], true))).toEqual([0, 'output-limit', 0, 0]);
  });
});
