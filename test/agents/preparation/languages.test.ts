import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { keepWholeParts } from '../../../src/agents/preparation/derivation.ts';
import { detectLanguage, LANGUAGES } from '../../../src/agents/preparation/languages/language-table.ts';
import { changeLiteral } from '../../../src/agents/preparation/languages/changed-literal.ts';
import { draftTripwires, wireTests } from '../../../src/agents/preparation/wired-tests.ts';
import { type FileContents, writeFiles } from '../../support/grading-fixture.ts';
import { SUMS } from '../../support/repository-fixture.ts';
import { SAMPLES } from '../../support/repository-languages.ts';
import { filesOf } from '../../support/source-files.ts';

it.each(SAMPLES)('files say that a repository is in $title, its tests are found by id, and copied with another literal', (sample) => {
  const files = filesOf({ ...sample.before, ...sample.fix });
  const { language, framework } = detectLanguage(files);
  expect(language.name).toBe(sample.language);
  const [id = ''] = sample.failToPass;
  const place = language.findFile(id, framework) ?? '';
  expect(framework.testFiles).toContain(place);
  const text = files.get(place)?.content.toString() ?? '';
  const drafts = language.tripwires(place, text, sample.failToPass, framework);
  expect(drafts.map(({ of }) => of)).toEqual(sample.failToPass);
  for (const { tripwire, wire, restored } of drafts) {
    expect(tripwire.changed).not.toBe(tripwire.literal);
    const wired = wireTests(files, drafts, true);
    expect(wired.get(wire.path)?.content.toString()).toContain(tripwire.changed);
    expect(wired.get(restored.path)?.content.toString()).toContain(tripwire.literal);
  }
});

it.each(SAMPLES)('a run in $title is one command, whose order is drawn, and asks for the pinned tests', (sample) => {
  const { language, framework } = detectLanguage(filesOf({ ...sample.before, ...sample.fix }), ['-x', "it's"]);
  const { command, files } = language.suite(framework, { kind: 'ids', ids: sample.failToPass });
  const { coverage } = language;
  const all = [language.suite(framework, { kind: 'files', files: framework.testFiles })];
  if (coverage?.kind === 'suite') all.push(coverage.suite(framework));
  for (const each of [files, ...all.map((suite) => suite.files)]) expect(each['run.sh']).toContain(String.raw` -x 'it'\''s' `);
  expect(command).toContain('{seed}');
  const text = Object.values(files).join('\n');
  for (const id of sample.failToPass) expect(text).toContain(language.getPart(id).split('::').at(-1));
  expect(
    language.cheats({ sources: [{ path: 'sums.go', text: 'package sums\n' }], testFiles: framework.testFiles }).length,
  ).toBeGreaterThan(3);
});

it.each([
  ['python', { 'pyproject.toml': '[project]\nname = "a"\ndependencies = ["b"]\n' }],
  ['python', { 'setup.py': 'setup(name="a", install_requires=["b"])\n' }],
  ['python', { 'requirements-test.txt': '# for tests\nb==1\n' }],
  ['go', { 'go.mod': 'module a\n\nrequire example.com/b v1.0.0\n' }],
  ['rust', { 'Cargo.toml': '[package]\nname = "a"\n[dev-dependencies]\nb = "1"\n' }],
  ['javascript', { 'package.json': '{ "devDependencies": { "b": "1" } }\n' }],
])('in %s it is known which files may name something to install', (name, named) => {
  const plan = LANGUAGES.find((language) => language.name === name)?.dependencies;
  const mayName = ([place, text]: readonly [string, string]): boolean => plan?.declares(place) === true && plan.mayName(place, text);
  expect(Object.entries(named).map(mayName)).toEqual([true]);
  const plain: readonly FileContents[] = [{ ...SUMS.before, 'requirements.txt': '# none\n' }, ...SAMPLES.map(({ before }) => before)];
  const texts = plain.flatMap((files) => Array.from(filesOf(files), ([place, { content }]) => [place, content.toString()] as const));
  expect(texts.filter(mayName)).toEqual([]);
});

it('words that a user adds come before the tests in the command of pytest', () => {
  const { language, framework } = detectLanguage(filesOf(SUMS.before), ['-m', 'not slow']);
  const { command } = language.suite(framework, { kind: 'files', files: framework.testFiles });
  expect(command.slice(-4)).toEqual(['--junitxml={report}', '-m', 'not slow', '@/tests/selected.txt']);
});

it('tests of one name have no tripwires', () => {
  const before: FileContents = SAMPLES.find(({ language }) => language === 'javascript')?.before ?? {};
  const text = filesOf(before).get('test/sums.test.js')?.content.toString() ?? '';
  const twice = filesOf({ ...before, 'test/sums.test.js': text.replace("'gives a mean'", "'adds'") });
  const ids = ['test/sums.test.js > sums > adds', 'test/sums.test.js > sums > gives a mean'];
  const detected = detectLanguage(twice);
  const pinned = { failToPass: ids.slice(1), passToPass: ids.slice(0, 1) };
  expect(draftTripwires(detected, twice, detected.framework.testFiles, pinned)).toEqual([]);
  // The test that has to begin to pass comes first.
  expect(draftTripwires(detected, filesOf(before), detected.framework.testFiles, pinned).map(({ of }) => of)).toEqual(ids.toReversed());
});

it('neither the number of assertions nor a time limit distinguishes right from wrong', () => {
  const detected = detectLanguage(filesOf({ ...SAMPLES.find(({ language }) => language === 'javascript')?.before }));
  const text = "test('adds', (t) => {\n  t.plan(2);\n  t.is(add(2, 3), 5);\n  later(t, { timeout: 9 });\n});\n";
  const drafts = detected.language.tripwires('a.test.js', text, ['a.test.js > adds'], detected.framework);
  expect(drafts.map(({ tripwire }) => tripwire.changed)).toEqual(['t.is(add(2, 3), 6);']);
});

it('a literal is changed to one of its type', () => {
  const changed = ['eq(f(1), { a: undefined });', 'assert f(1) == True', 'is(g("no"))', 'h(undefined(), x.true)'].map(changeLiteral);
  expect(changed).toEqual(['eq(f(1), { a: null });', 'assert f(1) == False', 'is(g("ne"))', undefined]);
});

it('a part that is run as a whole is pinned as a whole or not at all', () => {
  const getPart = (id: string): string => id.split('/')[0] ?? '';
  const pinned = { failToPass: ['a/1'], passToPass: ['a/2', 'b/1'] };
  expect(keepWholeParts(pinned, ['a/1', 'a/2', 'b/1', 'b/skipped'], getPart)).toEqual({ failToPass: ['a/1'], passToPass: ['a/2'] });
  expect(() => keepWholeParts(pinned, ['a/1', 'a/skipped'], getPart)).toThrow('a is run as a whole');
});

/** Programs as CMake names them: in variables, of several files that others share, by a path, with macros of their own, with an argument that is expected. */
const PROGRAMS = {
  'CMakeLists.txt':
    'cmake_minimum_required(VERSION 3.20)\nproject(sums C)\nenable_testing()\nadd_subdirectory(programs)\nset(CMAKE_C_FLAGS -DREFUSED)\nset(CMAKE_C_STANDARD 90)\n',
  'programs/CMakeLists.txt': `project(programs C)
set(read_out read.out)
add_executable(\${read_out} "\${CMAKE_CURRENT_SOURCE_DIR}/check_read.c")
add_test(NAME \${read_out} COMMAND "\${CMAKE_CURRENT_BINARY_DIR}/\${read_out}" checks.h "" WORKING_DIRECTORY "\${CMAKE_CURRENT_SOURCE_DIR}")
add_executable(write checks.c checks.h $<$<CONFIG:Debug>:extra.c> writing.c)
add_executable(write_fast checks.c writing.c)
add_test(NAME write COMMAND write)
add_test(write_fast write_fast)
add_executable(append checks.c append.c)
add_test(NAME append COMMAND $<TARGET_FILE:append>)
set_tests_properties(append PROPERTIES PASS_REGULAR_EXPRESSION "0 wrong")
`,
  'programs/check_read.c':
    '#ifdef REFUSED\n#error\n#endif\n#include <stdio.h>\nint main(int count, char **words) {\n    if (count != 3) return 1;\n    return fopen(words[1], "r") == 0;\n}\n',
  'programs/checks.c':
    'int checks(int a) {\n    return a == 1;\n}\n\nint more(int a) {\n    return a == 2;\n}\n\nint most(int a) {\n    return a == 3;\n}\n',
  'programs/checks.h': 'int checks(int a);\n',
  'programs/extra.c': 'int extra;\n',
  'programs/writing.c': 'int checks(int);\nint main(void) {\n    return checks(1) == 1 ? 0 : 1;\n}\n',
  'programs/append.c':
    '#include <stdio.h>\n#define TEST(suite, name) int main(void)\nTEST(Own, macro) {\n    int wrong = !(2 == 2);\n    printf("%d wrong", wrong);\n    return 3;\n}\n',
} as const;

it('a program of C is known by what CMake names, and its copy is built and run as the program is', async () => {
  const files = filesOf(PROGRAMS);
  const detected = detectLanguage(files);
  const { places, testFiles } = detected.framework;
  const ids = ['read.out', 'write', 'write_fast', 'append'];
  expect(ids.map((id) => places.get(id))).toEqual(['check_read.c', 'writing.c', 'writing.c', 'append.c'].map((file) => `programs/${file}`));
  const drafts = draftTripwires(detected, files, testFiles, { failToPass: ids, passToPass: [] });
  expect(drafts.map(({ of }) => of)).toEqual(['append', 'read.out', 'write']);
  expect(drafts[1]?.tripwire.changed).toBe('if (count != 4) return 1;');
  const { files: own } = detected.language.suite(detected.framework, { kind: 'files', files: testFiles });
  const directory = await mkdtemp(path.join(tmpdir(), 'muster-programs-'));
  try {
    const wired = [...wireTests(files, drafts, true)].map(([name, { content }]) => [name, content.toString()]);
    await writeFiles(directory, { ...PROGRAMS, ...Object.fromEntries(wired), ...own });
    const run = promisify(execFile);
    const included = path.join(directory, 'tripwires.cmake');
    await run('cmake', ['-S', '.', '-B', 'build', '-DCMAKE_BUILD_TYPE=Debug', `-DCMAKE_PROJECT_INCLUDE=${included}`], { cwd: directory });
    await run('cmake', ['--build', 'build'], { cwd: directory });
    const tested = run('ctest', ['--test-dir', 'build'], { cwd: directory });
    const { stdout } = await tested.catch((error: unknown) => z.object({ code: z.literal(8), stdout: z.string() }).parse(error));
    const outcomes = new Map(Array.from(stdout.matchAll(/Test +#\d+: (\S+) \.+[ *]*(Passed|Failed)/g), ([, id = '', end]) => [id, end]));
    const passing = [...ids, ...drafts.map(({ restored }) => restored.id)].map((id) => [id, 'Passed'] as const);
    expect(outcomes).toEqual(new Map([...passing, ...drafts.map(({ wire }) => [wire.id, 'Failed'] as const)]));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});
