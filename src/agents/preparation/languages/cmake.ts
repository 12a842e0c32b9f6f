import { posix } from 'node:path';
import { type SourceFiles, readText } from '../source/source-files.ts';
import { classifyPath } from '../source/path-kinds.ts';
import { nameCopy, WORDS } from './changed-literal.ts';
import { makeCommonCheats, writeCheat } from './cheats.ts';
import type { CheatPlace, Framework, LanguageAdapter, SuiteCommand, TestSelection, TripwireDraft } from './language-adapter.ts';
import { changeLast, draftBlocks } from './test-blocks.ts';

const CODE = /\.(c|cc|cpp|cxx)$/;
const GOOGLE_TEST = /^TEST(?:_F)?\(\s*(?<suite>\w+)\s*,\s*(?<name>\w+)\s*\)/gm;

/** C and C++: what CMake builds and CTest runs. */
export const CMAKE: LanguageAdapter = {
  name: 'c',
  detect: detectCMake,
  getPart: (id) => id,
  suite: buildCTestSuite,
  environment: () => ({ CMAKE_COLOR_DIAGNOSTICS: 'OFF', CLICOLOR: '0' }),
  findFile: (id, { places }) => places.get(id),
  // The files that say what is built name the tests.
  hidesTests: false,
  dependencies: undefined,
  releases: ['/usr/include', '/usr/local/include', '/usr/src'],
  coverage: undefined,
  chooseGrammar: (path) => (/\.(c|cc|cpp|cxx|h|hh|hpp|hxx)$/.test(path) ? 'cpp' : undefined),
  tripwires: draftCTripwires,
  cheats: makeCCheats,
};

function detectCMake(files: SourceFiles): Framework | undefined {
  const lists = [...files.keys()].filter((path) => posix.basename(path) === 'CMakeLists.txt' || path.endsWith('.cmake'));
  const texts = lists.map((path) => [posix.dirname(path), readText(files, path) ?? ''] as const);
  if (!files.has('CMakeLists.txt') || !texts.some(([, text]) => /\b(add_test|gtest_discover_tests|enable_testing)\b/.test(text)))
    return undefined;
  const places = new Map<string, string>();
  const code = [...files.keys()].filter((path) => CODE.test(path));
  for (const path of code.filter((each) => classifyPath(each) === 'test'))
    for (const id of guessNames(posix.basename(path, posix.extname(path)))) places.set(id, path);
  for (const [directory, text] of texts)
    for (const [id, file] of readTests(text)) if (files.has(posix.join(directory, file))) places.set(id, posix.join(directory, file));
  for (const path of code)
    for (const { groups } of (readText(files, path) ?? '').matchAll(GOOGLE_TEST))
      places.set(`${groups?.['suite'] ?? ''}.${groups?.['name'] ?? ''}`, path);
  return { name: 'ctest', evidence: 'CMakeLists.txt', testFiles: [...new Set(places.values())].sort(), places };
}

/** What a test is usually called whose file has this name. */
function guessNames(stem: string): readonly string[] {
  const short = stem.replace(/^test_|_test$/, '');
  return [stem, short, `test_${short}`, `${short}_test`];
}

const EXECUTABLE = /\badd_executable\s*\(\s*(?<target>[\w.-]+)\s+(?<file>[\w./-]+\.(?:c|cc|cpp|cxx))\s*\)/g;
const ADDED = /\badd_test\s*\(\s*(?:NAME\s+)?(?<name>[\w.-]+)\s+(?:COMMAND\s+)?(?<target>[\w.-]+)/g;

const SET = /\bset\s*\(\s*(?<name>\w+)\s+"?(?<value>[\w./-]+)"?\s*\)/gi;

/** Tests that are one program of one file, by what the file says literally, or through a variable that holds one word. */
function* readTests(written: string): Generator<readonly [string, string]> {
  const words = new Map(Array.from(written.matchAll(SET), ({ groups }) => [groups?.['name'] ?? '', groups?.['value'] ?? '']));
  const text = written.replaceAll(/"?\$\{(\w+)\}"?/g, (whole, name: string) => words.get(name) ?? whole);
  const files = new Map(Array.from(text.matchAll(EXECUTABLE), ({ groups }) => [groups?.['target'] ?? '', groups?.['file'] ?? '']));
  for (const { groups } of text.matchAll(ADDED)) {
    const file = files.get(groups?.['target'] ?? '');
    if (file !== undefined) yield [groups?.['name'] ?? '', file];
  }
}

/**
 * Many projects build their tests only when an option of their own asks for them. CMake includes this before it comes to the options. Projects within
 * the project keep their tests to themselves.
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

/**
 * A program of a tripwire is built like the one that it is a copy of: its file stands beside that one's, under one of the names that copies have. It is added
 * once all targets are known.
 */
const TRIPWIRES = `if(CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR)
  cmake_language(DEFER CALL muster_add_tripwires "\${CMAKE_CURRENT_SOURCE_DIR}")
endif()
function(muster_add_tripwires directory)
  get_property(inner DIRECTORY "\${directory}" PROPERTY SUBDIRECTORIES)
  foreach(each IN LISTS inner)
    muster_add_tripwires("\${each}")
  endforeach()
  get_property(targets DIRECTORY "\${directory}" PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type \${target} TYPE)
    get_target_property(sources \${target} SOURCES)
    list(LENGTH sources count)
    if(NOT type STREQUAL "EXECUTABLE" OR NOT count EQUAL 1)
      continue()
    endif()
    get_filename_component(file "\${sources}" ABSOLUTE BASE_DIR "\${directory}")
    get_filename_component(stem "\${file}" NAME_WE)
    get_filename_component(place "\${file}" DIRECTORY)
    get_filename_component(ending "\${file}" LAST_EXT)
    foreach(word ${WORDS.join(' ')})
      if(EXISTS "\${place}/\${stem}_\${word}\${ending}")
        add_executable(\${target}_\${word} "\${place}/\${stem}_\${word}\${ending}")
        foreach(property LINK_LIBRARIES INCLUDE_DIRECTORIES COMPILE_DEFINITIONS COMPILE_OPTIONS COMPILE_FEATURES CXX_STANDARD C_STANDARD)
          get_target_property(value \${target} \${property})
          if(value)
            set_property(TARGET \${target}_\${word} PROPERTY \${property} "\${value}")
          endif()
        endforeach()
        add_test(NAME \${stem}_\${word} COMMAND \${target}_\${word})
      endif()
    endforeach()
  endforeach()
endfunction()
`;

function buildCTestSuite(_: Framework, selection: TestSelection): SuiteCommand {
  const wanted = selection.kind === 'files' ? '' : ` -R '^(${selection.ids.map((id) => id.replaceAll(/[^\w]/g, '.')).join('|')})$'`;
  const script = `#!/bin/sh
# $1: the report, $2: CTest draws an order by itself.
{
  cmake -S . -B /tmp/build -DCMAKE_BUILD_TYPE=Debug -DBUILD_TESTING=ON -DCMAKE_PROJECT_INCLUDE=/tests/tripwires.cmake &&
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
    files: { 'run.sh': script, 'tripwires.cmake': `${TEST_OPTIONS}${TRIPWIRES}` },
  };
}

const HEADER = /^(?<indent>)TEST(?:_F)?\(\s*\w+\s*,\s*(?<name>\w+)\s*\)\s*\{$/;

function draftCTripwires(path: string, text: string, ids: readonly string[], { places }: Framework): readonly TripwireDraft[] {
  const here = [...places].flatMap(([id, place]) => (place === path ? [id] : []));
  if (/^TEST(?:_F)?\(/m.test(text))
    return draftBlocks(path, text, ids, { header: HEADER, findId: (name) => here.find((id) => id.endsWith(`.${name}`)) });
  const of = here.find((id) => ids.includes(id));
  const lines = text.split('\n');
  const changed = changeLast(lines);
  if (of === undefined || changed === undefined) return [];
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

const EXITS = `#include <unistd.h>
__attribute__((constructor)) static void leave_early(void) { _exit(0); }
`;
const NO_ASSERTIONS = `#undef assert
#define assert(truth) ((void)0)
`;

function makeCCheats(place: CheatPlace): ReturnType<LanguageAdapter['cheats']> {
  const code = place.sources.filter(({ path }) => CODE.test(path));
  const headers = place.sources.filter(({ path }) => !CODE.test(path));
  return [
    ...(code.length === 0 ? [] : [writeCheat('exits-at-start', appendTo(code, EXITS))]),
    ...(headers.length === 0 ? [] : [writeCheat('no-assertions', appendTo(headers, NO_ASSERTIONS))]),
    writeCheat('no-tests-built', { 'CTestCustom.cmake': 'set(CTEST_CUSTOM_TESTS_IGNORE ".*")\n' }),
    ...makeCommonCheats(place),
  ];
}

function appendTo(files: CheatPlace['sources'], text: string): Record<string, string> {
  return Object.fromEntries(files.map((each) => [each.path, `${each.text}\n${text}`]));
}
