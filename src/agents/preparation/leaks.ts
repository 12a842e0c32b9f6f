import { normaliseLine } from './instruction.ts';
import { isCode } from './source/path-kinds.ts';
import { compareFiles, type SourceFiles, readText } from './source/source-files.ts';

/** Shorter lines stand in any program. */
const LEAST_LINE = 10;
const LEAST_DISTINCT = 24;
const MOST_LINES = 200;

/** What is looked for in other files: a file that holds all of these lines holds the fix. */
export interface FixTrace {
  /** Lines that the fix adds, normaliseLine. */
  readonly added: readonly string[];
  /** Each change with the lines around it, normaliseLine: for fixes that are too small to be told by their lines. */
  readonly windows: readonly (readonly string[])[];
}

const CONTEXT = 2;

/** @param before without the fix. @param after with it. */
export function traceFix(before: SourceFiles, after: SourceFiles): FixTrace {
  const added: string[] = [];
  const windows: string[][] = [];
  for (const path of compareFiles(before, after).keys()) {
    if (!isCode(path)) continue;
    const old = new Set((readText(before, path) ?? '').split('\n').map(normaliseLine));
    const lines = (readText(after, path) ?? '').split('\n').map(normaliseLine);
    for (const [at, line] of lines.entries()) {
      if (old.has(line) || line === '') continue;
      if (line.length >= LEAST_LINE) added.push(line);
      windows.push(lines.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).filter((each) => each !== ''));
    }
  }
  return { added: [...new Set(added)].slice(0, MOST_LINES), windows: windows.slice(0, MOST_LINES) };
}

/** Whether a text holds the fix. `find_leaks.py` does the same for files in a sandbox. */
export function holdsFix({ added, windows }: FixTrace, text: string): boolean {
  const lines = text
    .split('\n')
    .map(normaliseLine)
    .filter((line) => line !== '');
  const there = new Set(lines);
  const isTelling = added.some((line) => line.length >= LEAST_DISTINCT) || added.length > 2;
  if (isTelling) return added.every((line) => there.has(line));
  const joined = `\n${lines.join('\n')}\n`;
  return windows.length > 0 && windows.every((window) => window.length > 2 && joined.includes(`\n${window.join('\n')}\n`));
}
