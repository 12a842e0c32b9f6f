import { mkfifo } from './special-files.ts';
import { mkdir, rm, symlink, truncate } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ComputedCases, type ExpectedCase } from '../../../src/agents/grading/expected-cases.ts';
import { GradingTime } from '../../../src/agents/grading/stages/grading-time.ts';
import { describeGradingTemplate, TESTS } from '../../../src/agents/grading/grading-template.ts';
import type { GradingSandboxes } from '../../../src/agents/grading/grading-sandboxes.ts';
import { GradingPools } from '../../../src/app/grading/grading-pools.ts';
import { systemClock } from '../../../src/kernel/clock.ts';
import { silentLog } from '../../../src/kernel/log.ts';
import { eventually } from '../../support/eventually.ts';
import { takeVerdict } from '../../../src/agents/grading/stages/take-verdict.ts';
import { omitMeasurements, type Verdict } from '../../../src/agents/verification/verdict.ts';
import { SkippableClock } from '../../support/skippable-clock.ts';
import { SORT_TASK, TASK, GradingFixture } from '../../support/grading-fixture.ts';

let fixture: GradingFixture;
beforeAll(async () => {
  fixture = await GradingFixture.open();
});
afterAll(() => fixture[Symbol.asyncDispose]());

const ANSWER = '#!/bin/bash\n[ "$(cat answer.txt)" = 42 ]; echo $((1 - $?)) >/logs/verifier/reward.txt; echo judged; exit 7\n';

describe('a task that its test.sh judges', () => {
  it('rewards only a right submission, whatever status the script ends with', async () => {
    const task = await fixture.task({ ...TASK, 'tests/test.sh': ANSWER });
    const right = await fixture.verdict(task, { 'answer.txt': '42\n' });
    expect(right.verdict).toMatchObject({
      reward: 1,
      problem: null,
      evidence: [
        { files: 1, bytes: 3 },
        { ending: { code: 7 }, output: 'judged\n' },
      ],
    });
    expect((await fixture.verdict(task, { 'answer.txt': '41\n' })).verdict.reward).toBe(0);
    expect((await fixture.verdict(task, {})).verdict.reward).toBe(0);
  });

  it.each([
    ['1.5', { reward: null, problem: { kind: 'verifier' } }],
    ['NaN', { reward: null, problem: { kind: 'verifier' } }],
    ['', { reward: 0, problem: null }],
    ['0.25', { reward: 0.25, problem: null }],
  ])('has the verdict that a reward file of "%s" calls for', async (reward, expected) => {
    const task = await fixture.task({ ...TASK, 'tests/test.sh': `#!/bin/bash\nprintf '${reward}' >/logs/verifier/reward.txt\n` });
    expect((await fixture.verdict(task, {})).verdict).toMatchObject(expected);
  });

  it('ends a script that takes too long, and one that leaves a link for a reward', async () => {
    const slow = await fixture.task({
      ...TASK,
      'task.toml': TASK['task.toml']?.replace('60', '0.5') ?? '',
      'tests/test.sh': '#!/bin/bash\nsleep 60\n',
    });
    expect((await fixture.verdict(slow, {})).verdict).toMatchObject({ reward: 0, evidence: [{}, { ending: { kind: 'timeout' } }] });
    const linked = await fixture.task({
      ...TASK,
      'tests/test.sh': '#!/bin/bash\necho 1 >/tmp/r; ln -s /tmp/r /logs/verifier/reward.txt\n',
    });
    expect((await fixture.verdict(linked, {})).verdict).toMatchObject({ reward: 0, problem: null });
  });
});

function listInputs({ evidence }: Verdict): readonly string[] {
  return evidence.flatMap((one) => (one.stage === 'execute' && 'cases' in one ? one.cases.map(({ inputDigest }) => inputDigest) : []));
}

describe('a task with cases', () => {
  it('gives the solution 1 and the unchanged workspace 0, and the same verdict with the same seed', async () => {
    const task = await fixture.task(SORT_TASK);
    const solution = { 'sort.py': SORT_TASK['solution/sort.py'] ?? '' };
    const first = await fixture.verdict(task, solution);
    expect(first.verdict).toMatchObject({ reward: 1, gate: 1, problem: null });
    const [, executed] = first.verdict.evidence;
    expect(executed).toMatchObject({ kind: 'cases', seed: first.seed });
    const runs = executed && 'cases' in executed && executed.stage === 'execute' ? executed.cases.map((one) => one.runs.length) : [];
    expect(runs.toSorted((a, b) => a - b)).toEqual([1, 1, 1, 2]);
    const again = await fixture.verdict(task, solution, { seed: first.seed });
    expect(omitMeasurements(again.verdict)).toEqual(omitMeasurements(first.verdict));
    // Another seed draws other inputs: what was seen of one verdict is of no use for the next.
    const other = (await fixture.verdict(task, {})).verdict;
    expect(other).toMatchObject({ reward: 0, problem: null });
    const [seen, unseen] = [first.verdict, other].map(listInputs);
    expect([seen?.length, unseen?.filter((input) => seen?.includes(input))]).toEqual([4, []]);
  });

  it('compiles first, and gives 0 if that fails', async () => {
    const muster =
      '[compile]\ncommand = ["/usr/bin/gcc", "-O1", "-o", "double", "double.c"]\n[execute]\nkind = "cases"\ncommand = ["./double"]\nstored = "cases.jsonl"\n[[constraints]]\nmeasure = "binaryBytes"\nof = "double"\nmost = 1000000\n';
    const cases = '{"stdin": "21", "expected": "42\\n"}\n{"stdin": "-3", "expected": "-6\\n"}\n';
    const task = await fixture.task({ ...TASK, 'muster.toml': muster, 'tests/cases.jsonl': cases });
    const source = '#include <stdio.h>\nint main(void) { int n; if (scanf("%d", &n) != 1) return 1; printf("%d\\n", 2 * n); return 0; }\n';
    expect((await fixture.verdict(task, { 'double.c': source })).verdict).toMatchObject({ reward: 1 });
    const broken = (await fixture.verdict(task, { 'double.c': source.replace('int n;', '') })).verdict;
    expect(broken).toMatchObject({
      reward: 0,
      problem: null,
      stages: [{ outcome: 'passed' }, { stage: 'compile', outcome: 'failed' }, {}, {}, {}],
    });
    expect(JSON.stringify(broken.evidence[1])).toContain('undeclared');
  });

  it('has no reward when generator or golden model fail, rather than a wrong one', async () => {
    for (const broken of ['tests/draw.py', 'tests/golden.py']) {
      const task = await fixture.task({ ...SORT_TASK, [broken]: 'import sys\nsys.exit("out of order")\n' });
      const { verdict } = await fixture.verdict(task, { 'sort.py': SORT_TASK['solution/sort.py'] ?? '' });
      expect(verdict).toMatchObject({ reward: null, problem: { detail: expect.stringContaining('out of order') } });
    }
  });
});

describe('verdicts on the same inputs', () => {
  it('have generator and golden model run once, and are those of verdicts that share nothing', async () => {
    const open = await fixture.task(SORT_TASK);
    const { task, content } = open;
    const sandboxes = fixture.grader.getSandboxes(open);
    let opened = 0;
    // Longer than a verdict may take, which waiting for a sandbox is no part of.
    const clock = new SkippableClock();
    const counted: GradingSandboxes = {
      ...sandboxes,
      open: (...place) => {
        clock.skip(3_600_000);
        return sandboxes.open(...place);
      },
      openTrusted: (...place) => {
        opened += 1;
        clock.skip(3_600_000);
        return sandboxes.openTrusted(...place);
      },
    };
    const take = async (source: string, seed: string, computed?: ComputedCases): Promise<string> => {
      const files = [{ path: '/app/sort.py', content: Buffer.from(source), executable: false }];
      const context = { sandboxes: counted, clock, ...(computed && { computed }) };
      const grading = { task, step: task.steps[0], content, submission: { files, problem: undefined }, seed };
      return JSON.stringify(omitMeasurements(await takeVerdict(grading, context, AbortSignal.timeout(120_000))));
    };
    const [right, wrong] = [SORT_TASK['solution/sort.py'] ?? '', SORT_TASK['environment/sort.py'] ?? ''];
    const computed = new ComputedCases();
    const shared = [await take(right, 'a', computed), await take(wrong, 'a', computed), await take(right, 'b', computed)];
    expect(opened).toBe(2);
    expect(shared).toEqual([await take(right, 'a'), await take(wrong, 'a'), await take(right, 'b')]);
    expect(opened).toBe(5);
  });

  it('are kept up to a number of bytes, the most recently used ones', async () => {
    const computed = new ComputedCases(10);
    const computedFor: string[] = [];
    const get = async (key: string, bytes: number): Promise<number | undefined> => {
      const compute = (): Promise<readonly ExpectedCase[]> => Promise.resolve((computedFor.push(key), listCases(bytes)));
      return (await computed.get(key, compute, (other) => other))[0]?.expected.length;
    };
    for (const key of ['a', 'b']) await get(key, 5);
    await get('huge', 11);
    for (const key of ['a', 'c', 'a', 'huge', 'b']) expect(await get(key, key === 'huge' ? 11 : 5)).toBe(key === 'huge' ? 11 : 5);
    expect(computedFor).toEqual(['a', 'b', 'huge', 'c', 'huge', 'b']);
  });

  it('are computed once for simultaneous verdicts, and by each verdict if that computation fails or is given up', async () => {
    const computed = new ComputedCases();
    const first = Promise.withResolvers<readonly ExpectedCase[]>();
    const patient = <Value>(other: Promise<Value>): Promise<Value> => other;
    const never = (): Promise<never> => Promise.reject(new Error('computed twice'));
    const both = [computed.get('a', () => first.promise, patient), computed.get('a', never, patient)];
    await expect(computed.get('a', never, () => Promise.reject(new Error('given up')))).rejects.toThrow('given up');
    first.resolve(listCases(1));
    expect(await Promise.all(both)).toEqual([listCases(1), listCases(1)]);

    const broken = Promise.withResolvers<readonly ExpectedCase[]>();
    const failing = computed.get('b', () => broken.promise, patient);
    const other = computed.get('b', () => Promise.resolve(listCases(2)), patient);
    broken.reject(new Error('its sandbox was lost'));
    await expect(failing).rejects.toThrow('its sandbox was lost');
    expect(await other).toEqual(listCases(2));
    expect(await computed.get('b', never, patient)).toEqual(listCases(2));
  });

  it('do not pay for waiting for each other', async () => {
    const clock = new SkippableClock();
    const time = new GradingTime({ clock, sandboxes: fixture.grader.getSandboxes(await fixture.task(SORT_TASK)) }, 3600);
    const other = Promise.withResolvers<number>();
    const waiting = time.leaveOut(() => other.promise);
    clock.skip(3_600_000);
    other.resolve(1);
    expect(await waiting).toBe(1);
    expect(time.within(60)).toBe(60);
  });
});

function listCases(bytes: number): readonly ExpectedCase[] {
  const test = { name: 'one', arguments: [], stdin: new Uint8Array(), files: {}, expected: undefined };
  return [{ test, isVisible: false, expected: new Uint8Array(bytes) }];
}

describe("the sandbox of a task's own code", () => {
  it('is kept for the next verdict also where one sandbox is used at a time', async () => {
    await using narrow = await GradingFixture.open({ MUSTER_POOL__MAX: '1' });
    const open = await narrow.task(SORT_TASK);
    const sandboxes = narrow.grader.getSandboxes(open);
    const place = describeGradingTemplate(open.task, open.task.steps[0], [TESTS]);
    const { signal } = new AbortController();
    const first = await sandboxes.openTrusted(place, signal);
    await first[Symbol.asyncDispose]();
    const candidates = await sandboxes.open(place, signal);
    const waiting = sandboxes.openTrusted(place, signal);
    expect(candidates.session).not.toBe(first.session);
    await candidates[Symbol.asyncDispose]();
    await using next = await waiting;
    expect(next.session).toBe(first.session);
  });

  it("has the candidate's made meanwhile, which is there when its use is over", async () => {
    await using pools = new GradingPools(fixture.config, systemClock, silentLog);
    const open = await fixture.task(SORT_TASK);
    const sandboxes = pools.getSandboxes(open);
    const [step] = open.task.steps;
    const [trusted, own] = [describeGradingTemplate(open.task, step, [TESTS]), describeGradingTemplate(open.task, step, [])];
    const { signal } = new AbortController();
    const used = await sandboxes.openTrusted(trusted, signal, own);
    await eventually('the next sandbox is idle', () => pools.state().sandboxes.idle === 1);
    await used[Symbol.asyncDispose]();
    await using candidates = await sandboxes.open(own, signal);
    await candidates.session.ping(signal);
    expect(pools.state().totals.created).toBe(2);
  });
});

describe('a submission', () => {
  it.each([
    ['a link', (file: string) => symlink('/etc/passwd', file), 'sort.py: is a link; expected files and directories'],
    ['a pipe', (file: string) => mkfifo(file), 'is a device, socket or pipe'],
    ['huge', (file: string) => truncate(file, 2 ** 40), 'have more than'],
    ['named with a line feed', (file: string) => mkdir(`${file}/a\nb`, { recursive: true }), 'has a name with a control character'],
    ['missing', (file: string) => rm(file), 'is missing'],
  ])('with an artifact that is %s fails', async (_, make, problem) => {
    const toml = `artifacts = ["sort.py"]\n${SORT_TASK['task.toml']}`;
    const task = await fixture.task({ ...SORT_TASK, 'task.toml': toml });
    const directory = await fixture.written({ 'sort.py': '' });
    const file = path.join(directory, 'sort.py');
    if (!problem.startsWith('have') && !problem.endsWith('missing')) await rm(file);
    await make(file);
    const { verdict } = await fixture.verdict(task, directory);
    expect(verdict).toMatchObject({
      reward: 0,
      problem: null,
      stages: [{ outcome: 'failed', detail: expect.stringContaining(problem) }, {}, {}],
    });
  });

  it('that is larger than its sandbox, or gets in the way of the task, fails and is no fault of the infrastructure', async () => {
    const small = (SORT_TASK['task.toml'] ?? '').replace('[environment]', '[environment]\nstorage_mb = 8');
    const task = await fixture.task({ ...SORT_TASK, 'task.toml': small, 'environment/data': '' });
    const judge = await fixture.task({ ...TASK, 'task.toml': small, 'environment/data': '', 'tests/test.sh': '#!/bin/bash\nexit 0\n' });
    const directory = await fixture.written({ 'sort.py': '', 'large.bin': '' });
    await truncate(path.join(directory, 'large.bin'), 64 * 2 ** 20);
    for (const submission of [directory, { 'data/file': '' }])
      for (const one of [task, judge]) expect((await fixture.verdict(one, submission)).verdict).toMatchObject({ reward: 0, problem: null });
  });
});
