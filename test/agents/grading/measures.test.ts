import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Verdict } from '../../../src/agents/verification/verdict.ts';
import { sampled } from '../../support/full-form.ts';
import { type FilesByPath, GradingFixture, SORT_TASK, TASK } from '../../support/grading-fixture.ts';

let fixture: GradingFixture;
beforeAll(async () => {
  fixture = await GradingFixture.open();
});
afterAll(() => fixture[Symbol.asyncDispose]());

const PYTHON = '"/usr/bin/python3", "-I"';
const SPEED_TASK: FilesByPath = {
  ...TASK,
  'muster.toml': `
[execute]
kind = "cases"
command = [${PYTHON}, "double.py"]
stored = "cases.jsonl"
[golden]
command = [${PYTHON}, "/tests/golden.py"]
[compare]
mode = "canonical"
form = "tokens"
[score]
weights = { correctness = 0.5, speed = 0.5 }
[score.speed]
r0 = 0.1
r1 = 1000
halfWidth = 0.1
pairs = 6
`,
  'tests/cases.jsonl': '{"stdin": "21"}\n{"stdin": "-3"}\n',
  'tests/golden.py': 'import time\ntime.sleep(0.4)\nopen("/tmp/left", "w").write("answer")\nprint(2 * int(input()))\n',
};
/** Fails where it finds anything that the golden model or the tests have left. */
const QUICK = `import os, sys
left = [name for place in ("/tests", "/tmp", "/logs", "/dev/shm") if os.path.isdir(place) for name in os.listdir(place)]
sys.exit(f"found {left}") if left else print(2 * int(input()))
`;

describe('a speed score', () => {
  it('is measured in turns of golden model and candidate in one sandbox, where the candidate finds nothing of the golden model', async () => {
    const task = await fixture.task(SPEED_TASK);
    const { verdict } = await fixture.verdict(task, { 'double.py': QUICK });
    const evidence = verdict.evidence.find((one) => one.stage === 'score');
    expect(evidence).toMatchObject({ kind: 'speed', wrong: null });
    const turns = evidence && 'turns' in evidence ? evidence.turns : [];
    expect(turns.length).toBeGreaterThanOrEqual(3);
    expect(turns.length).toBeLessThanOrEqual(6);
    expect(new Set(turns.map(({ name }) => name))).toEqual(new Set(['stored-1', 'stored-2']));
    expect(turns.every(({ golden, candidate }) => golden > 0.4 && golden > candidate)).toBe(true);
    const [correctness, speed] = verdict.components;
    expect([correctness?.score, speed?.name]).toEqual([1, 'speed']);
    expect(speed?.score).toBeGreaterThan(0.25);
    expect(speed?.score).toBeLessThan(1);
    expect(verdict.reward).toBeCloseTo(0.5 + 0.5 * (speed?.score ?? 0), 12);
  });

  it('is not measured for a wrong candidate', async () => {
    const task = await fixture.task(SPEED_TASK);
    const { verdict } = await fixture.verdict(task, { 'double.py': 'print(42)\n' });
    expect(verdict).toMatchObject({ reward: 0, components: [{ score: 0 }, { name: 'speed', score: null }] });
    expect(verdict.stages.at(-1)).toMatchObject({ stage: 'score', outcome: 'not-run' });
  });
});

const LOOP = 'int n = 0; if (scanf("%d", &n) != 1) return 1; volatile long sum = 0; for (long i = 0; i < ROUNDS; i++) sum += i;';
const program = (body: string): string =>
  `#include <stdio.h>\n#include <signal.h>\n#include <sys/wait.h>\n#include <unistd.h>\n#include <valgrind/callgrind.h>\n#include <stdlib.h>\n#include <sys/socket.h>\n#include <sys/syscall.h>\nint main(void) {\n${body}\n}\n`;
const cheap = program(`${LOOP.replace('ROUNDS', '10000L')} printf("%d\\n", 2 * n); return 0;`);
const LONG = LOOP.replace('ROUNDS', '2000000L');
const COUNTED: FilesByPath = {
  ...TASK,
  'muster.toml': `
[compile]
command = ["/usr/bin/gcc", "-O1", "-o", "double", "double.c"]
[execute]
kind = "cases"
command = ["./double"]
stored = "cases.jsonl"
repeated = 0
[golden]
command = ["/bin/sh", "-c", "read n; echo $((2 * n))"]
[compare]
mode = "canonical"
form = "tokens"
[[constraints]]
measure = "instructions"
most = 1000000
[score]
weights = { correctness = 0.5, efficiency = 0.5 }
[score.efficiency]
measure = "instructions"
r0 = 0.001
r1 = 1000
`,
  'tests/cases.jsonl': '{"stdin": "21\\n"}\n{"stdin": "-3\\n"}\n',
};

describe('instructions', () => {
  const constraints = (verdict: Verdict): unknown => verdict.stages.find(({ stage }) => stage === 'constraints');

  it('are counted the same each time, bound what a candidate may do, and make an efficiency score', async () => {
    const task = await fixture.task(COUNTED);
    const verdicts = [await fixture.verdict(task, { 'double.c': cheap }), await fixture.verdict(task, { 'double.c': cheap })];
    const [first, second] = verdicts.map(({ verdict }) => verdict.evidence.find((one) => one.stage === 'constraints'));
    expect(second).toEqual(first);
    const efficiency = verdicts[0]?.verdict.components[1];
    expect(efficiency?.score).toBeGreaterThan(0);
    expect(efficiency?.score).toBeLessThan(1);
    const dear = await fixture.verdict(task, { 'double.c': program(`${LONG} printf("%d\\n", 2 * n); return 0;`) });
    expect(dear.verdict.reward).toBe(0);
    expect(constraints(dear.verdict)).toMatchObject({ outcome: 'failed', detail: expect.stringContaining('at most 1000000 is allowed') });
  });

  const programs: readonly (readonly [string, string])[] = [
    ['becomes another program', `${LONG} printf("%d\\n", 2 * n); fflush(stdout); execl("/bin/true", "true", (char *)0); return 1;`],
    [
      'has a child do the work, and kills it',
      `int p[2]; if (pipe(p)) return 1; int child = fork(); if (child < 0) return 1;
       if (child == 0) { ${LONG} int r = 2 * n; write(p[1], &r, sizeof r); pause(); }
       int r; read(p[0], &r, sizeof r); kill(child, SIGKILL); wait(0); printf("%d\\n", r); return 0;`,
    ],
    ['tells callgrind to stop', `CALLGRIND_STOP_INSTRUMENTATION; ${LONG} printf("%d\\n", 2 * n); return 0;`],
    [
      'forges the report',
      `${LONG} dprintf(2, "==1== Collected : 5\\n"); printf("%d\\n", 2 * n); dprintf(3, "==1== Collected : 5\\n"); return 0;`,
    ],
  ];
  it.each(sampled(programs, ([what]) => what === 'has a child do the work, and kills it' || what === 'forges the report'))(
    'are not those of a candidate that %s',
    async (_, body) => {
      const task = await fixture.task(COUNTED);
      const { verdict } = await fixture.verdict(task, { 'double.c': program(body) });
      expect(verdict).toMatchObject({ reward: 0, problem: null });
      expect(constraints(verdict)).toMatchObject({ outcome: 'failed' });
    },
  );
});

const forbids = (measure: string, names: readonly string[]): FilesByPath => ({
  ...COUNTED,
  'muster.toml': `${(COUNTED['muster.toml'] ?? '').split('[[constraints]]')[0]}
[[constraints]]
measure = "${measure}"
forbidden = ${JSON.stringify(names)}
`,
});
const judged = async (task: FilesByPath, body: string): Promise<unknown> => {
  const { verdict } = await fixture.verdict(await fixture.task(task), {
    'double.c': program(`int n = 0; ${body} printf("%d\\n", 2 * n); return 0;`),
  });
  return [verdict.reward, verdict.stages.find(({ stage }) => stage === 'constraints')?.detail];
};
const READS = 'if (scanf("%d", &n) != 1) return 1;';

describe('the size of the source', () => {
  it('is that of the submission, without the files that it replaces', async () => {
    const source = SORT_TASK['solution/sort.py'] ?? '';
    const bound = `[[constraints]]\nmeasure = "sourceBytes"\nmost = ${source.length}\n`;
    const task = await fixture.task({ ...SORT_TASK, 'muster.toml': `${SORT_TASK['muster.toml']}${bound}` });
    expect((await fixture.verdict(task, { 'sort.py': source })).verdict.reward).toBe(1);
    expect((await fixture.verdict(task, { 'sort.py': `${source}\n` })).verdict.reward).toBe(0);
  });
});

describe('forbidden system calls', () => {
  const calls: readonly (readonly [readonly string[], string, string])[] = [
    [['fork', 'vfork', 'clone'], 'if (fork() == 0) _exit(0);', 'clone may not be used'],
    // A program that looks whether it is watched finds that it always is.
    [['socket'], 'if (socket(AF_INET, SOCK_STREAM, 0) < 0) n += 0;', 'socket may not be used'],
    [['execve', 'execveat'], 'if (fork() == 0) { execl("/bin/true", "true", (char *)0); _exit(0); } wait(0);', 'execve may not be used'],
    [['sendmsg', 'sendto'], 'struct msghdr m = {0}; sendmsg(3, &m, 0);', 'sendmsg may not be used'],
    [['unlink'], 'syscall(SYS_unlink, "/tmp/none");', 'unlink may not be used'],
  ];
  it.each(sampled(calls, ([[name]]) => name === 'execve' || name === 'sendmsg'))(
    '%j: a try shows, also by a child, and the call is refused',
    async (names, body, detail) => {
      expect(await judged(forbids('systemCalls', names), `${READS} ${body}`)).toEqual([0, `systemCalls: ${detail}`]);
      expect(await judged(forbids('systemCalls', names), READS)).toEqual([1, '']);
    },
  );
});

describe('forbidden symbols', () => {
  it('are those that a program defines or asks for, and one that hides its symbols fails', async () => {
    const task = forbids('symbols', ['system', 'dlsym']);
    expect(await judged(task, READS)).toEqual([1, '']);
    expect(await judged(task, `${READS} if (n == 12345) return system("true");`)).toEqual([0, 'symbols: system may not be used']);
    const stripped = { ...task, 'muster.toml': (task['muster.toml'] ?? '').replace('"-O1"', '"-O1", "-static", "-s"') };
    expect(await judged(stripped, READS)).toEqual([0, expect.stringContaining('/app/double has no table of symbols that can be read')]);
  });
});
