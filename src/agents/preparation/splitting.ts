import type { CodeStates } from './candidate.ts';
import { classifyPath } from './source/path-kinds.ts';
import { compareFiles, replaceFiles, type SourceFile, type SourceFiles, readText } from './source/source-files.ts';
import { Refused } from './source/steps.ts';

/** Rust has tests in the files that they test; other languages may. */
const INLINE_TESTS = /^\s*#\[cfg\(test\)\]|^\s*#\[test\]|^if import\.meta\.vitest/m;

/**
 * Splits a fix into its source and its tests. Other files, such as documentation and lock files, are in neither.
 *
 * @throws Refused (`split`) for a file that holds both.
 */
export function splitChange(parent: SourceFiles, commit: SourceFiles): CodeStates {
  const source = new Map<string, SourceFile | undefined>();
  const tests = new Map<string, SourceFile | undefined>();
  for (const [path, file] of compareFiles(parent, commit)) {
    const kind = classifyPath(path);
    if (kind === 'test') tests.set(path, file);
    else if (kind === 'source') {
      if (
        file !== undefined &&
        INLINE_TESTS.test(readText(commit, path) ?? '') &&
        isTestChanged(readText(parent, path), readText(commit, path))
      )
        throw new Refused('split', `${path} holds source code and the tests that change with it`);
      source.set(path, file);
    }
  }
  if (source.size === 0 || tests.size === 0) throw new Refused('split', 'it has no source patch, or no test patch');
  const tested = replaceFiles(parent, tests);
  return { before: parent, tested, solved: replaceFiles(tested, source) };
}

function isTestChanged(before = '', after = ''): boolean {
  return readInlineTests(before) !== readInlineTests(after);
}

function readInlineTests(text: string): string {
  return text.slice(Math.max(0, text.search(INLINE_TESTS)));
}

/** Returns the states of a mutation, whose tests are the existing ones. */
export function mutateStates(head: SourceFiles, path: string, text: string): CodeStates {
  const { executable = false } = head.get(path) ?? {};
  const before = replaceFiles(head, new Map([[path, { content: Buffer.from(text), executable }]]));
  return { before, tested: before, solved: head };
}
