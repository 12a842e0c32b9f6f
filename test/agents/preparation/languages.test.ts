import { expect, it } from 'vitest';
import { keepWholeParts } from '../../../src/agents/preparation/derivation.ts';
import { detectLanguage } from '../../../src/agents/preparation/languages/language-table.ts';
import { draftTripwires, wireTests } from '../../../src/agents/preparation/wired-tests.ts';
import type { FileContents } from '../../support/grading-fixture.ts';
import { SAMPLES } from '../../support/repository-languages.ts';
import { filesOf } from '../../support/source-files.ts';

it.each(SAMPLES)('files say that a repository is in $title, its tests are found by id, and copied with another literal', (sample) => {
  const files = filesOf({ ...sample.before, ...sample.fix });
  const { language, framework } = detectLanguage(files);
  expect(language.name).toBe(sample.language);
  const [id = ''] = sample.failToPass;
  const path = language.findFile(id, framework) ?? '';
  expect(framework.testFiles).toContain(path);
  const text = files.get(path)?.content.toString() ?? '';
  const drafts = language.tripwires(path, text, sample.failToPass, framework);
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

it('a test of C whose name stands in a variable is found, and copied', () => {
  const lists =
    'enable_testing()\nset(read_out read.out)\nadd_executable(${read_out} check_read.c)\nadd_test(NAME ${read_out} COMMAND ${read_out})\n';
  const test = '#include <assert.h>\nint main(void) {\n    assert(read() == 3);\n    return 0;\n}\n';
  const files = filesOf({ 'CMakeLists.txt': 'add_subdirectory(test)\n', 'test/CMakeLists.txt': lists, 'test/check_read.c': test });
  const detected = detectLanguage(files);
  expect(detected.framework.places.get('read.out')).toBe('test/check_read.c');
  const drafts = draftTripwires(detected, files, detected.framework.testFiles, ['read.out']);
  expect(drafts).toMatchObject([{ of: 'read.out', wire: { path: expect.stringMatching(/^test\/check_read_\w+\.c$/) } }]);
});
