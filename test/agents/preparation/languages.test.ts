import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { keepWholeParts } from '../../../src/agents/preparation/derivation.ts';
import { detectLanguage } from '../../../src/agents/preparation/languages/language-table.ts';
import { draftTripwires, wireTests } from '../../../src/agents/preparation/wired-tests.ts';
import { type FileContents, writeFiles } from '../../support/grading-fixture.ts';
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
  const { language, framework } = detectLanguage(filesOf({ ...sample.before, ...sample.fix }));
  const { command, files } = language.suite(framework, { kind: 'ids', ids: sample.failToPass });
  expect(command).toContain('{seed}');
  const text = Object.values(files).join('\n');
  for (const id of sample.failToPass) expect(text).toContain(language.getPart(id).split('::').at(-1));
  expect(
    language.cheats({ sources: [{ path: 'sums.go', text: 'package sums\n' }], testFiles: framework.testFiles }).length,
  ).toBeGreaterThan(3);
});

it('tests of one name have no tripwires', () => {
  const before: FileContents = SAMPLES.find(({ language }) => language === 'javascript')?.before ?? {};
  const text = filesOf(before).get('test/sums.test.js')?.content.toString() ?? '';
  const twice = filesOf({ ...before, 'test/sums.test.js': text.replace("'gives a mean'", "'adds'") });
  const ids = ['test/sums.test.js > sums > adds', 'test/sums.test.js > sums > gives a mean'];
  const detected = detectLanguage(twice);
  expect(draftTripwires(detected, twice, detected.framework.testFiles, ids)).toEqual([]);
  expect(draftTripwires(detected, filesOf(before), detected.framework.testFiles, ids)).toHaveLength(2);
});

it('how many assertions there are tells right from wrong no more than a limit of time does', () => {
  const detected = detectLanguage(filesOf({ ...SAMPLES.find(({ language }) => language === 'javascript')?.before }));
  const text = "test('adds', (t) => {\n  t.plan(2);\n  t.is(add(2, 3), 5);\n  later(t, { timeout: 9 });\n});\n";
  const drafts = detected.language.tripwires('a.test.js', text, ['a.test.js > adds'], detected.framework);
  expect(drafts.map(({ tripwire }) => tripwire.changed)).toEqual(['t.is(add(2, 3), 6);']);
});

it('a part that is run as a whole is pinned as a whole or not at all', () => {
  const getPart = (id: string): string => id.split('/')[0] ?? '';
  const pinned = { failToPass: ['a/1'], passToPass: ['a/2', 'b/1'] };
  expect(keepWholeParts(pinned, ['a/1', 'a/2', 'b/1', 'b/skipped'], getPart)).toEqual({ failToPass: ['a/1'], passToPass: ['a/2'] });
  expect(() => keepWholeParts(pinned, ['a/1', 'a/skipped'], getPart)).toThrow('a is run as a whole');
});

/** Programs of CMake as they are named: in variables, of several files that others share, by a path, with macros of their own. */
const PROGRAMS = {
  'CMakeLists.txt': `cmake_minimum_required(VERSION 3.20)
project(sums C)
enable_testing()
set(read_out read.out)
add_executable(\${read_out} "\${CMAKE_CURRENT_SOURCE_DIR}/check_read.c")
add_test(NAME \${read_out} COMMAND "\${CMAKE_CURRENT_BINARY_DIR}/\${read_out}")
add_executable(write checks.c checks.h $<$<CONFIG:Debug>:extra.c> writing.c)
add_executable(write_fast checks.c writing.c)
add_test(NAME write COMMAND write)
add_test(write_fast write_fast)
add_executable(append checks.c append.c)
add_test(NAME append COMMAND $<TARGET_FILE:append>)
`,
  'check_read.c': '#include <assert.h>\nint main(void) {\n    assert(read() == 3);\n    return 0;\n}\n',
  'checks.c':
    'int checks(int a) {\n    return a == 1;\n}\n\nint more(int a) {\n    return a == 2;\n}\n\nint most(int a) {\n    return a == 3;\n}\n',
  'checks.h': 'int checks(int a);\n',
  'extra.c': 'int extra;\n',
  'writing.c': 'int checks(int);\nint main(void) {\n    return checks(1) == 1 ? 0 : 1;\n}\n',
  'append.c': '#define TEST(suite, name) int main(void)\nTEST(Own, macro) {\n    if (1 == 1) return 0;\n    return 1;\n}\n',
} as const;

it('a program of C is known by what CMake names, and its copy is built with the other files of the program', async () => {
  const files = filesOf(PROGRAMS);
  const detected = detectLanguage(files);
  const { places, testFiles } = detected.framework;
  const ids = ['read.out', 'write', 'write_fast', 'append'];
  expect(ids.map((id) => places.get(id))).toEqual(['check_read.c', 'writing.c', 'writing.c', 'append.c']);
  const drafts = draftTripwires(detected, files, testFiles, ids);
  expect(drafts.map(({ of }) => of)).toEqual(['append', 'read.out', 'write']);
  const { command, files: own } = detected.language.suite(detected.framework, { kind: 'files', files: testFiles });
  expect(command).toEqual(['sh', '/tests/run.sh', '{report}', '{seed}']);
  const directory = await mkdtemp(path.join(tmpdir(), 'muster-programs-'));
  try {
    const wired = [...wireTests(files, drafts, true)].map(([name, { content }]) => [name, content.toString()]);
    await writeFiles(directory, { ...PROGRAMS, ...Object.fromEntries(wired), ...own });
    const run = async (...argv: readonly [string, ...string[]]): Promise<string> =>
      (await promisify(execFile)(argv[0], argv.slice(1), { cwd: directory })).stdout;
    await run('cmake', '-S', '.', '-B', 'build', '-DCMAKE_BUILD_TYPE=Debug', '-DCMAKE_PROJECT_INCLUDE=tripwires.cmake');
    await run('cmake', '--build', 'build');
    const listed = await run('ctest', '--test-dir', 'build', '-N');
    const copies = drafts.flatMap(({ wire, restored }) => [restored.id, wire.id]);
    expect(Array.from(listed.matchAll(/Test +#\d+: (\S+)$/gm), (found) => found[1] ?? '').sort()).toEqual([...ids, ...copies].sort());
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});
