import { normaliseLine } from './instruction.ts';
import { isCode } from './source/path-kinds.ts';
import { compareFiles, type SourceFiles, readText } from './source/source-files.ts';

/** Shorter lines occur in any program. */
const LEAST_LINE = 10;
const LEAST_DISTINCT = 24;
const LEAST_LINES = 3;
const MOST_LINES = 200;

/** The texts to search for in other files. */
export interface FixTrace {
  /** Lines that the fix adds, each normalised (`normaliseLine`). */
  readonly added: readonly string[];
  /**
   * For each change of the fix: texts of consecutive normalised lines, one of which every file with the fix contains. When the added lines alone
   * would occur in any program, the texts include surrounding lines. When there are no parts, the fix cannot be distinguished from other code.
   */
  readonly parts: readonly (readonly string[])[];
  /** Occurs in each file with the fix, so that most files need no closer look. */
  readonly word: string;
}

/** Consecutive added lines, with up to two lines before and after them. */
interface Run {
  readonly before: readonly string[];
  readonly lines: readonly string[];
  readonly behind: readonly string[];
}

const CONTEXT = 2;

/** @param before without the fix. @param after with it. */
export function traceFix(before: SourceFiles, after: SourceFiles): FixTrace {
  const runs: Run[] = [];
  for (const path of compareFiles(before, after).keys())
    if (isCode(path)) runs.push(...findRuns(readText(before, path) ?? '', readText(after, path) ?? ''));
  const all = runs.flatMap(({ lines }) => lines);
  const added = [...new Set(all.filter((line) => line.length >= LEAST_LINE))].slice(0, MOST_LINES);
  const parts = runs.slice(0, MOST_LINES).map((run) => chooseTexts(run, added));
  const words = all.flatMap((line) => line.split(' ')).filter((word) => /^[\x21-\x7e]+$/.test(word));
  const word = words.reduce((longest, each) => (each.length > longest.length ? each : longest), '');
  return { added, parts: parts.some((texts) => texts.length === 0) ? [] : parts, word };
}

function findRuns(before: string, after: string): readonly Run[] {
  const old = new Set(splitLines(before));
  const lines = splitLines(after);
  const runs: Run[] = [];
  for (let at = 0; at < lines.length;) {
    let end = at;
    while (end < lines.length && !old.has(lines[end] ?? '')) end += 1;
    if (end > at)
      runs.push({
        before: lines.slice(Math.max(0, at - CONTEXT), at),
        lines: lines.slice(at, end),
        behind: lines.slice(end, end + CONTEXT),
      });
    at = end + 1;
  }
  return runs;
}

/** @param added all lines of the fix. @returns none when these lines cannot be distinguished from other code. */
function chooseTexts({ before, lines, behind }: Run, added: readonly string[]): readonly string[] {
  const near = [...before, ...lines, ...behind];
  if (added.length >= LEAST_LINES) return [lines.join('\n')];
  if (!added.some((line) => line.length >= LEAST_DISTINCT)) return near.length > 2 ? [near.join('\n')] : [];
  const texts = [
    ...(before.length === 0 ? [] : [[...before.slice(-1), ...lines]]),
    ...(behind.length === 0 ? [] : [[...lines, ...behind.slice(0, 1)]]),
  ];
  return (texts.length === 0 ? [lines] : texts).map((each) => each.join('\n'));
}

/** Whether a text holds the fix. `find_leaks.py` does the same for files in a sandbox. */
export function holdsFix({ parts }: FixTrace, text: string): boolean {
  const joined = `\n${splitLines(text).join('\n')}\n`;
  return parts.length > 0 && parts.every((texts) => texts.some((each) => joined.includes(`\n${each}\n`)));
}

function splitLines(text: string): readonly string[] {
  return text
    .split('\n')
    .map(normaliseLine)
    .filter((line) => line !== '');
}
