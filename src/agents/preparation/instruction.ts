import type { Candidate } from './candidate.ts';
import { Refused } from './source/steps.ts';

export interface Instruction {
  readonly text: string;
  /** issue: the text of an issue is part of it. model: a model wrote it, because neither message nor issue says anything. */
  readonly source: 'commit' | 'issue' | 'mutation' | 'model';
  /** Lines that named a test or held a part of the fix, and are left out. */
  readonly leftOut: readonly string[];
}

const TRAILER = /^(signed-off-by|co-authored-by|reviewed-by|acked-by|tested-by|reported-by|cc|change-id|git-svn-id|cherry picked)\b.*$/i;
/** The subject of a merge whose own message is below. */
const MERGED = /^merge (pull request|branch|remote-tracking branch)\b.*\n+(?=\S)/i;
const SAYS_NOTHING = /^(fix(e[sd])?|wip|update|changes?|cleanup|misc|bug ?fix|test(s)?|review|merge.*|release.*|bump.*|v?\d[\d.]*)\W*$/i;
const LEAST_WORDS = 3;
/** The largest issue in characters. */
const MOST_ISSUE = 8000;
const END = '\n\nHidden tests judge the change.\n';

/**
 * Writes the instruction for an agent: the message of the commit, and the issues that it names. It names no test and contains no line of the fix.
 *
 * @param fixLines that the fix adds. @throws Refused (`scrub`) when nothing usable is left.
 */
export function writeInstruction(candidate: Candidate, testNames: readonly string[], fixLines: readonly string[]): Instruction {
  if (candidate.kind === 'mutation') return writeMutationInstruction(candidate.mutation);
  const { commit, issues = [] } = candidate;
  const message = screenText(commit.message.replaceAll('\r', '').replace(MERGED, ''), testNames, fixLines);
  const told = issues
    .map(({ text }) => screenText(text.slice(0, MOST_ISSUE), testNames, fixLines))
    .filter(({ saysNothing }) => !saysNothing);
  const leftOut = [message, ...told].flatMap((each) => each.leftOut);
  if (told.length === 0) return closeInstruction(message, 'commit', 'the commit message');
  const texts = [...(message.saysNothing ? [] : [message]), ...told].map(({ text }) => text);
  return { text: `${texts.join('\n\n')}${END}`, source: 'issue', leftOut };
}

/** @param text of a model. @throws Refused (`scrub`) when nothing of it is left. */
export function screenWrittenInstruction(text: string, testNames: readonly string[], fixLines: readonly string[]): Instruction {
  return closeInstruction(screenText(text, testNames, fixLines), 'model', 'what the model wrote');
}

interface ScreenedText {
  readonly text: string;
  readonly leftOut: readonly string[];
  readonly saysNothing: boolean;
}

function closeInstruction({ text, leftOut, saysNothing }: ScreenedText, source: 'commit' | 'model', what: string): Instruction {
  if (!saysNothing) return { text: `${text}${END}`, source, leftOut };
  const why = leftOut.length > 0 ? 'without the lines that name tests or hold the fix ' : '';
  throw new Refused('scrub', `${what} ${why}says nothing that an agent could work by: ${JSON.stringify(text.slice(0, 80))}`);
}

function screenText(whole: string, testNames: readonly string[], fixLines: readonly string[]): ScreenedText {
  const kept: string[] = [];
  const leftOut: string[] = [];
  for (const line of whole.split('\n').filter((each) => !TRAILER.test(each.trim())))
    (leaks(line, testNames, fixLines) ? leftOut : kept).push(line);
  const text = kept.join('\n').trim();
  const [subject = ''] = text.split('\n');
  return { text, leftOut, saysNothing: SAYS_NOTHING.test(subject.trim()) || text.split(/\s+/).length < LEAST_WORDS };
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
    text: `${what} does not do what it should any more: a small mistake was made in it. Find the mistake and correct it.${documented}${END}`,
    source: 'mutation',
    leftOut: [],
  };
}

/** Removes from a line of code what formatters change. */
export function normaliseLine(line: string): string {
  return line.trim().replaceAll(/\s+/g, ' ');
}
