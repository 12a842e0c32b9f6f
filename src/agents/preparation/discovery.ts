import type { Candidate, Commit, FileChange } from './candidate.ts';
import { isCode, classifyPath } from './source/path-kinds.ts';
import { Refused } from './source/steps.ts';

/** @throws Refused (`discover`) for a commit that is no fix: it does not touch both source and tests. */
export function describeFix(commit: Commit, changes: readonly FileChange[]): Candidate {
  const kinds = new Set(changes.map(({ path }) => (isCode(path) ? 'code' : classifyPath(path))));
  if (commit.parent === undefined) throw new Refused('discover', 'it is the first commit: there is no state before it');
  if (!kinds.has('code') && kinds.has('test')) throw new Refused('discover', 'it changes tests only');
  if (!kinds.has('code')) throw new Refused('discover', 'it changes no source code');
  if (!kinds.has('test')) throw new Refused('discover', 'it changes source code without tests');
  return { kind: 'fix', id: commit.id.slice(0, 12), commit, changes };
}
