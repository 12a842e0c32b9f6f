import type { Candidate } from './candidate.ts';
import { Refused } from './source/steps.ts';

export interface Instruction {
  readonly text: string;
  /** model: a model wrote it, because the commit's message says nothing. */
  readonly source: 'commit' | 'mutation' | 'model';
  /** Lines of the message that named a test or held a part of the fix, and are left out. */
  readonly leftOut: readonly string[];
}

const TRAILER = /^(signed-off-by|co-authored-by|reviewed-by|acked-by|tested-by|reported-by|cc|change-id|git-svn-id|cherry picked)\b.*$/i;
/** The subject of a merge whose own message is below. */
const MERGED = /^merge (pull request|branch|remote-tracking branch)\b.*\n+(?=\S)/i;
const SAYS_NOTHING = /^(fix(e[sd])?|wip|update|changes?|cleanup|misc|bug ?fix|test(s)?|review|merge.*|release.*|bump.*|v?\d[\d.]*)\W*$/i;
const LEAST_WORDS = 3;

/**
 * The instruction for an agent. It names no test and contains no line of the fix.
 *
 * @param fixLines that the fix adds. @throws Refused (`scrub`) when nothing usable is left.
 */
export function writeInstruction(candidate: Candidate, testNames: readonly string[], fixLines: readonly string[]): Instruction {
  if (candidate.kind === 'mutation') return writeMutationInstruction(candidate.mutation);
  return screenInstruction(candidate.commit.message.replaceAll('\r', '').replace(MERGED, ''), 'commit', testNames, fixLines);
}

/** @param message that may become the instruction. @throws Refused (`scrub`) when nothing of it is left. */
export function screenInstruction(
  message: string,
  source: 'commit' | 'model',
  testNames: readonly string[],
  fixLines: readonly string[],
): Instruction {
  const lines = message.split('\n');
  const kept: string[] = [];
  const leftOut: string[] = [];
  for (const line of lines.filter((each) => !TRAILER.test(each.trim()))) (leaks(line, testNames, fixLines) ? leftOut : kept).push(line);
  const text = kept.join('\n').trim();
  const [subject = ''] = text.split('\n');
  if (SAYS_NOTHING.test(subject.trim()) || text.split(/\s+/).length < LEAST_WORDS) {
    const why = leftOut.length > 0 ? 'without the lines that name tests or hold the fix ' : '';
    const what = source === 'commit' ? 'the commit message' : 'what the model wrote';
    throw new Refused('scrub', `${what} ${why}says nothing that an agent could work by: ${JSON.stringify(text.slice(0, 80))}`);
  }
  return { text: `${text}\n\nHidden tests judge the change.\n`, source, leftOut };
}

function leaks(line: string, testNames: readonly string[], fixLines: readonly string[]): boolean {
  const plain = normaliseLine(line);
  return (
    testNames.some((name) => name.length > 5 && line.includes(name)) ||
    fixLines.some((each) => plain.includes(each)) ||
    /^[+-]{3} [ab]\//.test(line)
  );
}

function writeMutationInstruction({
  path,
  function: name,
  documentation,
}: Extract<Candidate, { readonly kind: 'mutation' }>['mutation']): Instruction {
  const what = name === '' ? `\`${path}\`` : `\`${name}\` in \`${path}\``;
  const documented = documentation === '' ? '' : `\n\nIts documentation says:\n\n${documentation.replaceAll(/^/gm, '> ')}`;
  return {
    text: `${what} does not do what it should any more: a small mistake was made in it. Find the mistake and mend it.${documented}\n\nHidden tests judge the change.\n`,
    source: 'mutation',
    leftOut: [],
  };
}

/** A line of code without what formatters change. */
export function normaliseLine(line: string): string {
  return line.trim().replaceAll(/\s+/g, ' ');
}
