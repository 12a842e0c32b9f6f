import { structuredPatch } from 'diff';

/** Lines of a file, from 1, that differ between two versions of it. */
export interface ChangedLines {
  readonly before: (line: number) => boolean;
  readonly after: (line: number) => boolean;
}

/** A comparison that takes longer counts every line as changed. */
const MOST_MILLISECONDS = 500;

export function findChangedLines(before: string, after: string): ChangedLines {
  const patch = structuredPatch('', '', before, after, undefined, undefined, { context: 0, timeout: MOST_MILLISECONDS });
  if (patch === undefined) return { before: () => true, after: () => true };
  return {
    before: (line) => patch.hunks.some(({ oldStart, oldLines }) => isIn(line, oldStart, oldLines)),
    after: (line) => patch.hunks.some(({ newStart, newLines }) => isIn(line, newStart, newLines)),
  };
}

function isIn(line: number, start: number, lines: number): boolean {
  return line >= start && line < start + lines;
}

export interface Finding {
  /** Absolute. */
  readonly path: string;
  readonly line: number;
}

const FINDING = /^(?<path>[^\s:][^:]*):(?<line>\d{1,9}):/;

/** Reads a linter's output, one finding a line: `path:line:` and any text. Other lines are ignored. @param workdir base of relative paths. */
export function readFindings(printed: string, workdir: string): readonly Finding[] {
  return printed.split('\n').flatMap((text) => {
    const { path, line } = FINDING.exec(text)?.groups ?? {};
    if (path === undefined) return [];
    return [{ path: path.startsWith('/') ? path : `${workdir}/${path.replace(/^\.\//, '')}`, line: Number(line) }];
  });
}

/** Returns a number from -1 to 1, above 0 when the changed lines have fewer findings than before. */
export function computeStyle(before: number, after: number): number {
  return (before - after) / Math.max(1, before + after);
}
