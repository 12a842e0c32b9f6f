import type { Candidate } from './candidate.ts';
import { isCode, classifyPath } from './source/path-kinds.ts';
import { findSecret } from './secrets.ts';
import { Refused } from './source/steps.ts';

export interface FilterTerms {
  readonly licence: string | undefined;
  /** SPDX identifiers; `any`: every licence. */
  readonly allowed: readonly string[];
  /** The largest number of lines of source code that a fix changes. */
  readonly mostLines: number;
  readonly mostFiles: number;
  /** Seconds since 1970; commits before are refused. */
  readonly since: number;
}

/**
 * @param readAddedText what the change adds.
 * @throws Refused (`filter`) with the reason.
 */
export function filterCandidate(candidate: Candidate, readAddedText: string, terms: FilterTerms): void {
  const { licence, allowed } = terms;
  if (!allowed.includes('any') && (licence === undefined || !allowed.includes(licence)))
    throw new Refused('filter', `its licence is ${licence ?? 'not known'}; allowed are ${allowed.join(', ')}`);
  const secret = findSecret(readAddedText);
  if (secret !== undefined) throw new Refused('filter', `the change adds what looks like ${secret}`);
  if (candidate.kind === 'fix') filterFix(candidate, terms);
}

function filterFix({ commit, changes }: Extract<Candidate, { readonly kind: 'fix' }>, { mostLines, mostFiles, since }: FilterTerms): void {
  if (commit.committed < since) throw new Refused('filter', 'it is older than --since allows');
  const special = changes.find(({ isSpecial }) => isSpecial);
  if (special !== undefined) throw new Refused('filter', `it changes ${special.path}, which is a link or a submodule`);
  const binary = changes.find(({ isBinary, path }) => isBinary && classifyPath(path) !== 'other');
  if (binary !== undefined) throw new Refused('filter', `it changes the binary file ${binary.path}`);
  const source = changes.filter(({ path }) => isCode(path));
  if (source.length === 0) throw new Refused('filter', 'it changes generated files only');
  if (source.length > mostFiles) throw new Refused('filter', `it changes ${source.length} source files; at most ${mostFiles}`);
  const lines = source.reduce((sum, { added, removed }) => sum + added + removed, 0);
  if (lines > mostLines) throw new Refused('filter', `it changes ${lines} lines of source code; at most ${mostLines}`);
}
