import { describe, expect, it } from 'vitest';
import { digestVerifier } from '../../../src/agents/tasks/task-digest.ts';
import { readTask } from '../../../src/agents/tasks/read-task.ts';
import { InputError, getMessage } from '../../../src/kernel/errors.ts';
import { caseTask, caseTaskFiles, taskDirectory } from '../../support/task-fixture.ts';

function refusal(changes: Readonly<Record<string, string | undefined>>): string {
  try {
    caseTask(changes);
  } catch (error) {
    if (error instanceof InputError) return `${error.code} ${getMessage(error)}`;
    throw error;
  }
  return 'accepted';
}

const withExecute = (lines: string): string => `[execute]\nkind = "cases"\ncommand = ["./run"]\n${lines}`;
const withSuite = (lines: string): string =>
  `[execute]\nkind = "suite"\nrunner = "go"\ncommand = ["go", "test", "-json"]\nboundary = "shared"\n${lines}`;

describe('a task directory', () => {
  it('is read with every default filled in and without the lines that mark it', () => {
    const { id, workspace, limits, steps, oracle, cheats, twins, notices } = caseTask();
    const [{ instruction, artifacts, verifier, leastReward, tests }] = steps;
    expect(id).toBe('toys/double');
    expect(workspace).toEqual({ root: { kind: 'host' }, workdir: '/app', environment: {}, network: { mode: 'public' } });
    expect(limits).toEqual({ cpus: undefined, memoryBytes: undefined, storageBytes: undefined });
    expect(instruction).toBe('Write double.py, which doubles the number on its input.');
    expect(artifacts.map(({ source, destination, isRequired }) => [source, destination, isRequired])).toEqual([
      ['/app', '.', false],
      ['/logs/artifacts', 'logs/artifacts', false],
    ]);
    expect(verifier).toMatchObject({ kind: 'staged', timeoutSeconds: 600, execute: { kind: 'cases', seconds: 10, repeated: 1 } });
    expect([leastReward, tests]).toEqual([-Infinity, [{ path: 'cases.jsonl', file: 'tests/cases.jsonl' }]]);
    expect([oracle?.kind, cheats.map(({ directory }) => directory), twins]).toEqual(['files', ['cheats/constant'], []]);
    expect(notices).toEqual([]);
  });

  it('of Harbor works unchanged, with its unknown keys kept and reported', () => {
    const toml = `version = "1.0"\nartifacts = ["out.txt", {source = "/var/log/x", destination = "x"}]\n[metadata]\ndifficulty = "hard"
[agent]\ntimeout_sec = 900.0\nuser = 1000\nmood = "good"\n[verifier]\nuser = "root"\n[environment]\nmemory = "2G"\nallow_internet = false\ncpus = 2\n`;
    const files = {
      'task.toml': toml,
      'instruction.md': 'Do.',
      'tests/test.sh': 'exit 0',
      'environment/Dockerfile': 'FROM x',
      'solution/solve.sh': 'true',
    };
    const task = readTask(taskDirectory(files, 'hello-world'));
    expect(task.id).toBe('hello-world');
    expect(task.workspace).toMatchObject({ root: { kind: 'dockerfile', buildSeconds: 600 }, network: { mode: 'none' } });
    expect(task.limits).toEqual({ cpus: 2, memoryBytes: 2 ** 31, storageBytes: undefined });
    expect(task.steps[0]).toMatchObject({ agent: { timeoutSeconds: 900, user: '1000' }, verifier: { kind: 'script', user: 'root' } });
    expect(task.steps[0].artifacts.map(({ destination }) => destination)).toEqual(['out.txt', 'x', 'logs/artifacts']);
    expect(task.oracle).toMatchObject({ kind: 'script' });
    expect(task.notices[0]).toBe('hello-world/task.toml: agent.mood: unknown key; it is kept and has no effect');
  });

  it.each([
    ['FROM x\nWORKDIR /srv\nRUN make\nWORKDIR "own/"\n', '/srv/own'],
    ['FROM x AS build\r\nWORKDIR /build\r\nFROM --platform=linux/amd64 build\r\n# WORKDIR /comment\r\n', '/build'],
    ['FROM x AS build\nWORKDIR /build\nFROM y\nCOPY --from=build /build/a /a\n', '/app'],
    ['FROM x\nRUN cat > /a <<EOF\nWORKDIR /text\nEOF\nworkdir /lower\n', '/lower'],
    ['FROM x\nRUN echo \\\n  WORKDIR /continued\n', '/app'],
    ['FROM x\nARG HOME\nWORKDIR /first\nWORKDIR $HOME/it\n', '/app'],
    ['FROM x\nWORKDIR below\n', '/app'],
    ['FROM x\nWORKDIR /\n', '/app'],
  ])('works where the last stage of its Dockerfile does: %j', (dockerfile, workdir) => {
    const files = { 'environment/Dockerfile': dockerfile, 'tests/test.sh': 'exit 0', 'muster.toml': undefined };
    expect(caseTask(files).workspace.workdir).toBe(workdir);
    expect(caseTask({ ...files, 'task.toml': '[environment]\nworkdir = "/said"\n' }).workspace.workdir).toBe('/said');
  });

  it('may have several steps, each with its instruction, its tests over those of the task, and its stages', () => {
    const task = readTask(
      taskDirectory({
        'task.toml':
          'multi_step_reward_strategy = "final"\n[[steps]]\nname = "one"\nmin_reward = 0.5\n[[steps]]\nname = "two"\n[steps.agent]\ntimeout_sec = 5\n',
        'steps/one/instruction.md': 'First.',
        'steps/two/instruction.md': 'Then.',
        'tests/test.sh': 'common',
        'tests/data.txt': 'common',
        'steps/two/tests/data.txt': 'own',
        'steps/two/tests/cases.jsonl': '{"expected": ""}',
        'steps/two/muster.toml': withExecute('stored = "cases.jsonl"'),
      }),
    );
    expect(task.strategy).toBe('final');
    expect(task.steps.map(({ name, leastReward, verifier }) => [name, leastReward, verifier.kind])).toEqual([
      ['one', 0.5, 'script'],
      ['two', -Infinity, 'staged'],
    ]);
    expect(task.steps[1]?.tests).toContainEqual({ path: 'data.txt', file: 'steps/two/tests/data.txt' });
    expect(task.steps[1]?.agent.timeoutSeconds).toBe(5);
  });

  it('has another digest for any change of a file, and the same verifier for a change of the instruction', () => {
    const [first, again, other] = [caseTask(), caseTask(), caseTask({ 'instruction.md': 'Double it.' })];
    const judge = ({ files, steps: [step] }: ReturnType<typeof caseTask>): string => digestVerifier({ files }, step, 1);
    expect(again.digest).toBe(first.digest);
    expect(other.digest).not.toBe(first.digest);
    expect(judge(other)).toBe(judge(first));
    const stricter = caseTask({ 'tests/cases.jsonl': '{"stdin": "3", "expected": "6"}' });
    expect(judge(stricter)).not.toBe(judge(first));
    expect(readTask(taskDirectory(caseTaskFiles(), 'elsewhere')).digest).toBe(first.digest);
  });
});

describe('a task directory that is wrong is refused with its file and field', () => {
  const cases: readonly (readonly [string, Readonly<Record<string, string | undefined>>, RegExp])[] = [
    ['no task.toml', { 'task.toml': undefined }, /^task\.missing toy: task\.toml is missing; expected a task directory/],
    ['no TOML', { 'task.toml': 'a = \n' }, /^task\.invalid toy\/task\.toml:1: .*expected TOML 1\.0/],
    ['a key twice', { 'task.toml': 'source = "a"\nsource = "b"\n' }, /^task\.invalid toy\/task\.toml:2/],
    ['no tests', { 'muster.toml': undefined }, /^task\.no-tests toy: tests\/test\.sh is missing, and muster\.toml has no execute/],
    ['no instruction', { 'instruction.md': undefined }, /toy\/instruction\.md: is missing/],
    ['an instruction that is a mark only', { 'instruction.md': '<!-- canary -->' }, /toy\/instruction\.md: is empty/],
    [
      'an unknown version',
      { 'task.toml': 'schema_version = "2.0"' },
      /schema_version: expected a version from "1\.0" to "1\.4", got "2\.0"/,
    ],
    ['a timeout of 0', { 'task.toml': '[agent]\ntimeout_sec = 0' }, /agent\.timeout_sec: expected more than 0 seconds, got 0/],
    ['a name that leaves', { 'task.toml': '[task]\nname = "../x"' }, /task\.name: expected "org\/name"/],
    ['no Dockerfile', { 'muster.toml': '[workspace]\nroot = "dockerfile"' }, /environment: environment\/Dockerfile is missing/],
    ['no image', { 'muster.toml': '[workspace]\nroot = "image"' }, /environment\.docker_image: is missing/],
    ['Windows', { 'task.toml': '[environment]\nos = "windows"' }, /environment\.os: expected "linux", got "windows"/],
    ['an artifact that leaves', { 'task.toml': 'artifacts = ["../secret"]' }, /artifacts\[0\]: expected a relative path/],
    [
      'artifacts in one place',
      { 'task.toml': 'artifacts = ["a", {source = "/b", destination = "a"}]' },
      /two artifacts have the destination "a"/,
    ],
    ['a misspelt key', { 'muster.toml': withExecute('generater = 1') }, /execute\.generater: unknown key; did you mean "generator"\?/],
    ['no cases', { 'muster.toml': withExecute('') }, /execute: has neither stored cases nor a generator/],
    [
      'cases that are not there',
      { 'muster.toml': withExecute('stored = "x.jsonl"') },
      /execute\.stored: tests\/x\.jsonl is not among the task's files/,
    ],
    ['cases of another form', { 'tests/cases.jsonl': '{"stdin": 1}' }, /^task\.cases toy\/tests\/cases\.jsonl:1: stdin: /],
    ['a case twice', { 'tests/cases.jsonl': '{"name":"a","expected":""}\n{"name":"a","expected":""}' }, /:2: name: "a" occurs twice/],
    ['every case visible', { 'muster.toml': withExecute('stored = "cases.jsonl"\nvisible = 2') }, /execute\.visible: covers every case/],
    ['no golden model', { 'tests/cases.jsonl': '{"stdin": "1"}' }, /golden: is missing, and the stored case "stored-1" has no "expected"/],
    [
      'a driver that is not there',
      { 'muster.toml': withExecute('stored = "cases.jsonl"\ndriver = "d"') },
      /execute\.driver: tests\/d is no directory/,
    ],
    [
      'a test id twice',
      { 'muster.toml': withSuite('failToPass = ["a"]\npassToPass = ["a"]') },
      /execute\.passToPass: the test id "a" occurs twice/,
    ],
    ['no test to pass', { 'muster.toml': withSuite('failToPass = []') }, /execute\.failToPass: is empty/],
    [
      'a proxy for Go',
      { 'muster.toml': withSuite('failToPass = ["a"]').replace('shared', 'process') },
      /execute\.boundary: "process" is for pytest and unittest/,
    ],
    [
      'weights that are not 1',
      { 'muster.toml': withExecute('stored = "cases.jsonl"\n[score.weights]\ncorrectness = 0.5') },
      /score\.weights: add up to 0\.5; expected 1/,
    ],
    [
      'speed without terms',
      { 'muster.toml': withExecute('stored = "cases.jsonl"\n[score.weights]\ncorrectness = 0.5\nspeed = 0.5') },
      /score\.speed: is missing; its weight is 0\.5/,
    ],
    [
      'stages without execution',
      { 'muster.toml': '[compile]\ncommand = ["make"]' },
      /execute: is missing; compile has no effect without it/,
    ],
  ];

  it.each(cases)('%s', (_name, changes, expected) => {
    expect(refusal(changes)).toMatch(expected);
  });

  it('and each version from 1.0 to 1.4 is accepted without a notice', () => {
    const said = ['1.0', '1.1', '1.2', '1.3', '1.4'].map((version) => caseTask({ 'task.toml': `schema_version = "${version}"` }).notices);
    expect([...said, caseTask({ 'task.toml': 'version = "1.0"' }).notices]).toEqual(Array.from({ length: 6 }, () => caseTask().notices));
  });

  it('and a later minor version is accepted and reported', () => {
    expect(caseTask({ 'task.toml': 'schema_version = "1.7"' }).notices[0]).toContain('1.7 is later than 1.4');
  });
});
