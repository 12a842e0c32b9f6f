import { posix } from 'node:path';
import { nameCopy } from './changed-literal.ts';
import { appendWords, makeCommonCheats, writeCheat } from './cheats.ts';
import { COPIED_PROGRAMS } from './ctest-copies.ts';
import { CODE, detectCTest, listGoogleTests } from './ctest-programs.ts';
import type { CheatSources, Framework, LanguageAdapter, SuiteCommand, TestSelection, TripwireDraft } from './language-adapter.ts';
import { changeLast, draftBlocks } from './test-blocks.ts';

/** C and C++: what CMake builds and CTest runs. */
export const CMAKE: LanguageAdapter = {
  name: 'c',
  detect: detectCTest,
  getPart: (id) => id,
  suite: buildCTestSuite,
  environment: () => ({ CMAKE_COLOR_DIAGNOSTICS: 'OFF', CLICOLOR: '0' }),
  findFile: (id, { places }) => places.get(id),
  // The files that describe the build name the tests.
  hidesTests: false,
  dependencies: undefined,
  releases: ['/usr/include', '/usr/local/include', '/usr/src'],
  coverage: undefined,
  chooseGrammar: (path) => (/\.(c|cc|cpp|cxx|h|hh|hpp|hxx)$/.test(path) ? 'cpp' : undefined),
  tripwires: draftCTripwires,
  cheats: makeCCheats,
};

/**
 * Many projects build their tests only if an option of their own is set. CMake includes this before it reads the options. Nested projects keep their
 * tests to themselves.
 */
const TEST_OPTIONS = `if(CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR)
  file(STRINGS CMakeLists.txt options REGEX "^[ \\t]*(option|OPTION)[ \\t]*\\\\(")
  foreach(each IN LISTS options)
    string(REGEX REPLACE "^[ \\t]*(option|OPTION)[ \\t]*\\\\([ \\t]*([A-Za-z0-9_]+).*" "\\\\2" name "\${each}")
    string(TOUPPER "\${name}" upper)
    if(upper MATCHES "TESTS?(ING)?$" AND NOT upper MATCHES "NO_|WITHOUT|DISABLE|SKIP|FUZZ|BENCH" AND NOT DEFINED CACHE{\${name}})
      set(\${name} ON CACHE BOOL "")
    endif()
  endforeach()
endif()
`;

function buildCTestSuite({ added }: Framework, selection: TestSelection): SuiteCommand {
  const wanted = selection.kind === 'files' ? '' : ` -R '^(${selection.ids.map((id) => id.replaceAll(/[^\w]/g, '.')).join('|')})$'`;
  const script = `#!/bin/sh
# $1: the report, $2: CTest draws an order by itself.
{
  cmake -S . -B /tmp/build -DCMAKE_BUILD_TYPE=Debug -DBUILD_TESTING=ON -DCMAKE_PROJECT_INCLUDE=/tests/tripwires.cmake${appendWords(added)} &&
    cmake --build /tmp/build -j 2
} >/tmp/build.txt 2>&1 || {
  tail -n 40 /tmp/build.txt
  exit 1
}
exec ctest --test-dir /tmp/build --output-junit "$1" --schedule-random --timeout 300${wanted}
`;
  return {
    runner: 'ctest',
    command: ['sh', '/tests/run.sh', '{report}', '{seed}'],
    files: { 'run.sh': script, 'tripwires.cmake': `${TEST_OPTIONS}${COPIED_PROGRAMS}` },
  };
}

/** A value that is compared with 0 may be a pointer, and another number does not compile. */
const MAYBE_POINTER = /[=!]=\s*0\b/;
const HEADER = /^(?<indent>)TEST(?:_F)?\(\s*\w+\s*,\s*(?<name>\w+)\s*\)\s*\{$/;

function draftCTripwires(path: string, text: string, ids: readonly string[], { places }: Framework): readonly TripwireDraft[] {
  const here = [...places].flatMap(([id, place]) => (place === path && ids.includes(id) ? [id] : []));
  const within = new Set(listGoogleTests(text));
  const of = here.find((id) => !within.has(id));
  // A program that CTest runs as one test may have its own macros with GoogleTest's names.
  if (of === undefined)
    return draftBlocks(path, text, ids, { header: HEADER, findId: (name) => here.find((id) => id.endsWith(`.${name}`)) });
  const lines = text.split('\n');
  const changed = changeLast(lines.map((line) => (MAYBE_POINTER.test(line) ? '' : line))) ?? changeLast(lines);
  if (changed === undefined) return [];
  const ending = posix.extname(path);
  const stem = posix.basename(path, ending);
  const copy = (at: number, line: string): TripwireDraft['wire'] => {
    const id = nameCopy(stem, at);
    const block = `${lines.map((each, i) => (i === changed.at ? line : each)).join('\n')}\n`;
    return { id, path: posix.join(posix.dirname(path), `${id}${ending}`), at: 0, block };
  };
  const [wire, restored] = [copy(0, changed.line), copy(1, changed.literal)];
  return [{ tripwire: { id: wire.id, changed: changed.line.trim(), literal: changed.literal.trim() }, of, wire, restored }];
}

/** A header may come in several times. */
const EXITS = `#ifndef LEAVE_EARLY
#define LEAVE_EARLY
#include <unistd.h>
__attribute__((constructor)) static void leave_early(void) { _exit(0); }
#endif
`;
const NO_ASSERTIONS = `#undef assert
#define assert(truth) ((void)0)
`;

function makeCCheats(place: CheatSources): ReturnType<LanguageAdapter['cheats']> {
  const headers = place.sources.filter(({ path }) => !CODE.test(path));
  return [
    writeCheat('exits-at-start', appendTo(place.sources, EXITS)),
    ...(headers.length === 0 ? [] : [writeCheat('no-assertions', appendTo(headers, NO_ASSERTIONS))]),
    writeCheat('no-tests-built', { 'CTestCustom.cmake': 'set(CTEST_CUSTOM_TESTS_IGNORE ".*")\n' }),
    ...makeCommonCheats(place),
  ];
}

function appendTo(files: CheatSources['sources'], text: string): Record<string, string> {
  return Object.fromEntries(files.map((each) => [each.path, `${each.text}\n${text}`]));
}
