import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTask, listTasks, showTask, listTaskDirectories } from '../../src/app/tasks/task-catalogue.ts';
import { findTask, listReadableTasks } from '../../src/app/tasks/task-finder.ts';
import { importTasks, type ImportedTask, type ImportTerms } from '../../src/app/tasks/task-import.ts';

let top = '';
beforeEach(async () => {
  top = await mkdtemp(join(tmpdir(), 'muster-tasks-'));
});
afterEach(() => rm(top, { recursive: true, force: true }));

describe('a directory of tasks', () => {
  it('begins with a small task that has a solution, a cheat and a twin', async () => {
    const task = await createTask(join(top, 'first'));
    expect([task.id, task.oracle?.kind, task.cheats.length, task.twins.length, task.notices]).toEqual(['first', 'files', 1, 1, []]);
    await expect(createTask(join(top, 'first'))).rejects.toThrow(/first: it already exists; name a new directory/);
    await expect(createTask(join(top, 'no name'))).rejects.toThrow(/the directory's name is the task's: expected "name"/);
  });

  it('that is not there hides no task of others, and is no answer to who asks for a task', async () => {
    await createTask(join(top, 'good'));
    const directories = [join(top, 'absent'), top];
    expect((await findTask(directories, 'good'))?.task.id).toBe('good');
    expect(await findTask(directories, 'other/good')).toBeUndefined();
    expect((await listReadableTasks(directories)).map(({ id }) => id)).toEqual(['good']);
  });

  it('is listed with its unreadable tasks, and a directory without a task is refused', async () => {
    await expect(listTasks(top)).rejects.toThrow(/there is no task\.toml in it, nor in any directory in it/);
    await createTask(join(top, 'good'));
    await createTask(join(top, 'bad'));
    await writeFile(join(top, 'bad/task.toml'), '[agent]\ntimeout_sec = 0\n');
    const listed = await listTasks(top);
    expect(listed.map(({ task, problem }) => task?.id ?? problem)).toEqual([
      expect.stringMatching(/bad\/task\.toml: agent\.timeout_sec: expected more than 0 seconds, got 0/),
      'good',
    ]);
    expect(await listTasks(join(top, 'good'))).toHaveLength(1);
    await writeFile(join(top, 'README.md'), '');
    expect(await listTaskDirectories([join(top, 'README.md'), join(top, 'good'), join(top, 'bad')])).toEqual([
      join(top, 'good'),
      join(top, 'bad'),
    ]);
    await expect(listTaskDirectories([join(top, 'god')])).rejects.toThrow(
      `expected a task, or a directory of tasks; did you mean ${join(top, 'good')}?`,
    );
    expect(await listTaskDirectories([top])).toEqual([join(top, 'bad'), join(top, 'good')]);
    await expect(listTaskDirectories([join(top, 'README.md'), join(top, 'README.md')])).rejects.toThrow(
      /are files; expected directories of tasks/,
    );
  });
});

describe('rows of a dataset', () => {
  const patch = '--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a = "1"\n+a = 2\n';
  const testPatch = patch.replaceAll('x.py', 'tests/test_x.py');
  const bench = {
    instance_id: 'django__django-11099',
    repo: 'a/b',
    base_commit: 'c',
    patch,
    test_patch: testPatch,
    problem_statement: 'It says "1".\nIt should say 2.',
    FAIL_TO_PASS: '["tests/test_x.py::test_a[\\"q\\"]"]',
    PASS_TO_PASS: ['tests/test_x.py::test_b'],
  };
  const smith = {
    instance_id: 'r.1',
    repo: 'a/b',
    patch,
    image_name: 'img',
    problem_statement: 'Broken.',
    FAIL_TO_PASS: ['t.py::a'],
    PASS_TO_PASS: [],
  };

  it('of SWE-rebench use the repository’s path in their images', async () => {
    const rebench = { ...bench, instance_id: 'a__b-1', repo: 'org/tool', image_name: 'rebench/tool', language: 'python' };
    const [made] = await imported([rebench]);
    expect(made?.directory).toBe(join(top, 'out', 'a__b-1'));
    const task = await showTask(join(top, 'out', 'a__b-1'));
    expect([task.workspace.root, task.workspace.workdir, task.steps[0].artifacts[0]?.source]).toEqual([
      { kind: 'image', image: 'rebench/tool' },
      '/tool',
      '/tool',
    ]);
  });

  /** As pytest prints it under -rA, in colours. */
  const summary = (...lines: readonly string[]): string =>
    `1 passed\n\u001b[36m\u001b[1m=== short test summary info ===\u001b[0m\n${lines
      .map((line) => line.replace(/^(\w+) (\S+?\.py)::([^-]+)/, '\u001b[32m$1\u001b[0m $2::\u001b[1m$3\u001b[0m'))
      .join('\n')}\n`;
  const execution = {
    test_file_names: ['test_1.py'],
    test_file_codes: ['def test_a(): pass\n'],
    old_commit_res_stdout: summary('FAILED r2e_tests/test_1.py::T::test_a - assert 1 == 2', 'PASSED r2e_tests/test_1.py::test_b[c::d]'),
    new_commit_res_stdout: summary(
      'PASSED r2e_tests/test_1.py::T::test_a',
      'PASSED r2e_tests/test_1.py::test_b[c::d]',
      'SKIPPED [1] r2e_tests/test_1.py:9: later',
      'FAILED r2e_tests/test_1.py::test_known - assert 3',
    ),
  };
  const gym = {
    repo_name: 'numpy',
    docker_image: 'some/numpy_final:abc',
    commit_hash: 'abc',
    problem_statement: 'Before. [ISSUE]\nIt is broken.\n[/ISSUE]',
    prompt: 'Write an issue for the commit.',
    expected_output_json: JSON.stringify({ '\u001b[1mT.test_a\u001b[0m': 'PASSED', 'test_b[c.d]': 'PASSED', test_known: 'FAILED' }),
    parsed_commit_content: JSON.stringify({
      file_diffs: [
        { header: { file: { path: 'numpy/x.py' } }, old_file_content: 'a = 1\n', new_file_content: 'a = 2\n' },
        { header: { file: { path: 'numpy/tests/test_x.py' } }, old_file_content: 'b', new_file_content: 'c' },
        { header: { file: { path: 'numpy/gone.py' } }, old_file_content: 'd = 4\n', new_file_content: null },
      ],
    }),
    execution_result_content: JSON.stringify(execution),
  };

  it('of R2E-Gym have the tests that pass after the commit, and an image without them', async () => {
    const rows = [gym, { ...gym, commit_hash: 'other' }];
    expect(await imported(rows, { only: ['abc'] })).toMatchObject([{ name: 'numpy-abc', refusal: null }]);
    const { steps, workspace, oracle } = await showTask(join(top, 'out/numpy-abc'));
    const text = (name: string): Promise<string> => readFile(join(top, 'out/numpy-abc', name), 'utf8');
    expect([workspace.root.kind, workspace.workdir, oracle?.kind, steps[0].instruction]).toEqual([
      'dockerfile',
      '/testbed',
      'script',
      'It is broken.',
    ]);
    expect(steps[0].verifier).toMatchObject({
      execute: { failToPass: ['r2e_tests/test_1.py::T::test_a'], passToPass: ['r2e_tests/test_1.py::test_b[c::d]'], overlay: 'package' },
    });
    expect(await text('environment/Dockerfile')).toMatch(/^FROM some\/numpy_final:abc\n[^]*rm -rf \/r2e_tests[^]*mv \.venv \/opt\/venv/);
    expect([await text('tests/package/r2e_tests/test_1.py'), await text('tests/package/r2e_tests/__init__.py')]).toEqual([
      'def test_a(): pass\n',
      '',
    ]);
    expect(await text('solution/gold.patch')).toBe(
      '--- a/numpy/x.py\n+++ b/numpy/x.py\n@@ -1,1 +1,1 @@\n-a = 1\n+a = 2\n--- a/numpy/gone.py\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-d = 4\n',
    );
  });

  it('of R2E-Gym have a workdir without what does not fit into one, and with as much history as does', async () => {
    await imported([gym]);
    const dockerfile = await readFile(join(top, 'out/numpy-abc/environment/Dockerfile'), 'utf8');
    const shrinking = /^RUN (?<command>find [^]*; fi)$/m.exec(dockerfile)?.groups?.['command'] ?? '';
    const repository = join(top, 'repository');
    const sh = async (command: string): Promise<string> => (await promisify(execFile)('sh', ['-ec', command], { cwd: repository })).stdout;
    const commit = 'git -c user.name=a -c user.email=a@b commit -q --allow-empty -m';
    await mkdir(join(repository, '__pycache__'), { recursive: true });
    await writeFile(join(repository, '__pycache__/x.pyc'), '');
    await sh(`git init -q; echo x >x.py; ln -s x.py link; git add x.py link; ${commit} one; git tag v1; ${commit} two; git branch kept`);
    await sh(
      `git checkout -q --detach; ${commit} three; git update-ref refs/remotes/origin/main HEAD; git checkout -q kept; ln -s no dangling`,
    );
    const looked = 'git log --all --format=%s; git tag; git fsck --unreachable; git status --short; git rev-parse HEAD; ls; cat link';
    const head = await sh('git rev-parse HEAD');
    await sh(shrinking);
    expect(await sh(looked)).toBe(`two\none\nv1\n${head}link\nx.py\nx\n`);
    await sh(shrinking.replace(/-gt 128\b/, '-gt 0'));
    expect(await sh(looked)).toBe(`two\n${head}link\nx.py\nx\n`);
  });

  it('of R2E-Gym are left out with the reason if their tests cannot be identified', async () => {
    const changed = (changes: Partial<typeof execution>): object => ({
      ...gym,
      execution_result_content: JSON.stringify({ ...execution, ...changes }),
    });
    const twice = summary('PASSED r2e_tests/test_1.py::T::test_a', 'PASSED r2e_tests/test_2.py::T::test_a');
    const reasons = (
      await imported([
        changed({ test_file_names: ['tornado_unittest_runner.py'] }),
        changed({ new_commit_res_stdout: twice }),
        changed({ new_commit_res_stdout: '' }),
        changed({ test_file_codes: [] }),
        changed({ old_commit_res_stdout: execution.new_commit_res_stdout }),
        { ...gym, parsed_commit_content: { file_diffs: [] } },
      ])
    ).map(({ refusal }) => refusal);
    expect(reasons).toEqual([
      'its tests are started by tornado_unittest_runner.py, and not by pytest',
      expect.stringMatching(/has 2 tests of the name ".*T\.test_a.*"; expected one/),
      expect.stringMatching(/has 0 tests of the name/),
      'it has not as many test files as names for them',
      'it has no test that has to begin to pass',
      'its commit changes no text but tests',
    ]);
    await expect(imported([changed({ test_file_names: ['../x.py'] })])).rejects.toThrow(
      /rows\.json\[0\]: execution_result_content\.test_file_names\[0\]: expected a relative path/,
    );
    await expect(imported([{ ...gym, docker_image: 'a\nRUN evil' }])).rejects.toThrow(/docker_image: expected the name of an image/);
  });

  const imported = async (rows: unknown, terms: Partial<ImportTerms> = {}): Promise<readonly ImportedTask[]> => {
    const path = join(top, 'rows.json');
    await writeFile(path, typeof rows === 'string' ? rows : JSON.stringify(rows));
    return await Array.fromAsync(importTasks({ rows: path, out: join(top, 'out'), ...terms }));
  };

  it('become tasks with pinned tests, whose gold patch is in the oracle and nowhere else', async () => {
    expect(await imported([bench, smith])).toMatchObject([{ name: 'django__django-11099' }, { name: 'r.1' }]);
    const task = await showTask(join(top, 'out/django__django-11099'));
    expect(task.workspace.root).toEqual({ kind: 'image', image: 'sweb.eval.x86_64.django_1776_django-11099:latest' });
    expect(task.steps[0].instruction).toBe(bench.problem_statement);
    expect(task.steps[0].verifier).toMatchObject({ execute: { failToPass: ['tests/test_x.py::test_a["q"]'], boundary: 'shared' } });
    expect(task.oracle?.kind).toBe('script');
    const holders = [];
    for (const { path } of task.files)
      if ((await readFile(join(top, 'out/django__django-11099', path), 'utf8')).includes(patch)) holders.push(path);
    expect(holders).toEqual(['solution/gold.patch']);
    const second = await showTask(join(top, 'out/r.1'));
    expect([second.workspace.root.kind, second.steps[0].tests.map(({ path }) => path)]).toEqual([
      'dockerfile',
      ['fail-to-pass.json', 'pass-to-pass.json'],
    ]);
  });

  it('are left out with the reason if this machine cannot judge them', async () => {
    const rows = [
      { ...bench, FAIL_TO_PASS: ['test_x (app.tests.T)'] },
      { ...bench, FAIL_TO_PASS: '[]' },
      { ...bench, PASS_TO_PASS: bench.FAIL_TO_PASS },
      { ...smith, problem_statement: '' },
    ];
    const reasons = (await imported(rows)).map(({ refusal }) => refusal);
    expect(reasons).toEqual([
      expect.stringMatching(/is not one of pytest's/),
      'it has no test that has to begin to pass',
      expect.stringMatching(/occurs twice/),
      expect.stringMatching(/no problem_statement/),
    ]);
  });

  it('can be selected, and are refused with their position when they are wrong', async () => {
    const lines = [bench, smith].map((row) => JSON.stringify(row)).join('\n');
    expect(await imported(lines, { only: ['r.1'] })).toMatchObject([{ name: 'r.1' }]);
    expect(await imported(lines, { limit: 1 })).toHaveLength(1);
    await expect(imported(lines)).rejects.toThrow(/django__django-11099: it already exists/);
    await expect(imported([{ ...bench, patch: 1 }])).rejects.toThrow(/rows\.json\[0\]: patch: expected a text, got 1$/);
    await expect(imported([{ instance_id: 'a' }])).rejects.toThrow(/rows\.json\[0\]: repo: is missing; expected a text\n/);
    await expect(imported([{ ...bench, FAIL_TO_PASS: 'no list' }])).rejects.toThrow(
      /FAIL_TO_PASS: expected a list of test ids, or one as JSON/,
    );
    await expect(imported('PAR1')).rejects.toThrow(/expected a JSON list of rows, or JSON Lines; Parquet has to be converted first/);
  });

  it('cannot leave the directory through their name', async () => {
    const [first] = await imported([{ ...smith, instance_id: '../../etc/x y' }]);
    expect(first?.directory).toBe(join(top, 'out', 'etc-x-y'));
  });
});
