import { posix } from 'node:path';
import { classifyPath } from '../source/path-kinds.ts';
import { type SourceFiles, readText } from '../source/source-files.ts';
import type { Framework } from './language-adapter.ts';

/** Files that are compiled by themselves. */
export const CODE = /\.(c|cc|cpp|cxx)$/;
const GOOGLE_TEST = /^TEST(?:_F)?\(\s*(?<suite>\w+)\s*,\s*(?<name>\w+)\s*\)/gm;

/** Finds the tests that CTest runs, and their files, as far as the files of CMake name them. */
export function detectCTest(files: SourceFiles): Framework | undefined {
  const lists = [...files.keys()].filter((path) => posix.basename(path) === 'CMakeLists.txt' || path.endsWith('.cmake'));
  const texts = lists.map((path) => [posix.dirname(path), readText(files, path) ?? ''] as const);
  if (!files.has('CMakeLists.txt') || !texts.some(([, text]) => /\b(add_test|gtest_discover_tests|enable_testing)\b/.test(text)))
    return undefined;
  const places = new Map<string, string>();
  const code = [...files.keys()].filter((path) => CODE.test(path));
  for (const path of code.filter((each) => classifyPath(each) === 'test'))
    for (const id of guessNames(posix.basename(path, posix.extname(path)))) places.set(id, path);
  for (const [directory, text] of texts) for (const [id, path] of readTests(files, directory, text)) places.set(id, path);
  for (const path of code) for (const id of listGoogleTests(readText(files, path) ?? '')) places.set(id, path);
  return { name: 'ctest', evidence: 'CMakeLists.txt', testFiles: [...new Set(places.values())].sort(), places };
}

/** Lists the ids of the tests in a file, where GoogleTest runs them. */
export function listGoogleTests(text: string): readonly string[] {
  return Array.from(text.matchAll(GOOGLE_TEST), ({ groups }) => `${groups?.['suite'] ?? ''}.${groups?.['name'] ?? ''}`);
}

/** Lists the usual names of a test whose file has this name. */
function guessNames(stem: string): readonly string[] {
  const short = stem.replace(/^test_|_test$/, '');
  return [stem, short, `test_${short}`, `${short}_test`];
}

const EXECUTABLE = /\badd_executable\s*\(\s*(?<target>[\w.-]+)\s+(?<files>[^()]+)\)/g;
const ADDED = /\badd_test\s*\(\s*(?:NAME\s+)?(?<name>[\w.-]+)\s+(?:COMMAND\s+)?"?(?:\$<TARGET_FILE:|[^\s"()]*\/)?(?<target>[\w.-]+)/g;
const SET = /\bset\s*\(\s*(?<name>\w+)\s+"?(?<value>[\w./-]+)"?\s*\)/gi;
const OWN_DIRECTORY = /\$\{(CMAKE_CURRENT_SOURCE_DIR|CMAKE_CURRENT_LIST_DIR)\}\//g;

/** Yields tests that are one program, as the file says literally, or through a variable that holds one word. */
function* readTests(files: SourceFiles, directory: string, written: string): Generator<readonly [string, string]> {
  const words = new Map(Array.from(written.matchAll(SET), ({ groups }) => [groups?.['name'] ?? '', groups?.['value'] ?? '']));
  const text = written.replaceAll(OWN_DIRECTORY, '').replaceAll(/\$\{(\w+)\}/g, (whole, name: string) => words.get(name) ?? whole);
  const plain = text.replaceAll(/"([\w./-]+)"/g, '$1');
  const sources = new Map<string, readonly string[]>();
  for (const { groups } of plain.matchAll(EXECUTABLE)) {
    const named = (groups?.['files'] ?? '').split(/\s+/).map((file) => posix.join(directory, file));
    const code = named.filter((path) => CODE.test(path) && files.has(path));
    sources.set(groups?.['target'] ?? '', code);
  }
  for (const { groups } of plain.matchAll(ADDED)) {
    const file = findOwnFile(files, sources, groups?.['target'] ?? '');
    if (file !== undefined) yield [groups?.['name'] ?? '', file];
  }
}

/** Finds the file with a program's tests: the one that fewest programs share, of those the longest. */
function findOwnFile(files: SourceFiles, sources: ReadonlyMap<string, readonly string[]>, target: string): string | undefined {
  const shared = (path: string): number => [...sources.values()].filter((each) => each.includes(path)).length;
  const size = (path: string): number => files.get(path)?.content.length ?? 0;
  return (sources.get(target) ?? []).toSorted((a, b) => shared(a) - shared(b) || size(b) - size(a))[0];
}
