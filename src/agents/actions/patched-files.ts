import { applyPatch, parsePatch, type StructuredPatch } from 'diff';
import { getMessage } from '../../kernel/errors.ts';

/** The largest number of files in one patch. */
const MOST_FILES = 100;
/** Lines of a file times lines of its part of the patch: a hunk is tried at every line. */
const MOST_COMPARISONS = 20_000_000;
const NOTHING = '/dev/null';

/** What a patch does to one file. */
export interface FilePatch {
  /** Its name in the patch; null when the file is new. */
  readonly source: string | null;
  /** Null when the file is removed. */
  readonly target: string | null;
  readonly patch: StructuredPatch;
}

export type ReadPatch =
  { readonly kind: 'files'; readonly files: readonly FilePatch[] } | { readonly kind: 'problem'; readonly detail: string };

/** Reads a unified diff, of `diff -u` or git. */
export function readPatch(text: string): ReadPatch {
  let parsed: readonly StructuredPatch[];
  try {
    parsed = parsePatch(text);
  } catch (error) {
    return toProblem(`it is no unified diff: ${getMessage(error)}`);
  }
  const files = parsed.filter(({ hunks, isRename }) => hunks.length > 0 || isRename === true);
  if (files.length === 0)
    return toProblem('it holds no hunk; expected a unified diff, with lines "--- a/FILE", "+++ b/FILE" and "@@ … @@"');
  if (files.length > MOST_FILES) return toProblem(`it changes ${files.length} files; expected ${MOST_FILES} at most`);
  const read: FilePatch[] = [];
  for (const patch of files) {
    const { oldFileName, newFileName, isBinary, isCopy } = patch;
    if (oldFileName === undefined || newFileName === undefined)
      return toProblem('a part of it names no file; expected "--- a/FILE" and "+++ b/FILE"');
    if (isBinary === true || isCopy === true) return toProblem(`${newFileName}: binary changes and copies are not supported`);
    const source = oldFileName === NOTHING || patch.isCreate === true ? null : readName(oldFileName, 'a/');
    const target = newFileName === NOTHING || patch.isDelete === true ? null : readName(newFileName, 'b/');
    if (source === null && target === null) return toProblem('a part of it names no file');
    read.push({ source, target, patch });
  }
  return { kind: 'files', files: read };
}

function readName(name: string, prefix: string): string {
  return name.startsWith(prefix) ? name.slice(prefix.length) : name;
}

/** @returns the new text of a file, or why the patch does not fit. */
export function patchText(text: string, { patch, target }: FilePatch): { readonly text: string } | { readonly problem: string } {
  const lines = text.split('\n').length;
  const compared = patch.hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0) * lines;
  if (compared > MOST_COMPARISONS)
    return { problem: 'the file and the patch are too large together; write the file, or run a program that changes it' };
  // A hunk is tried at its stated position first: for one far beyond the end, every line until there would be tried.
  const hunks = patch.hunks.map((hunk) => ({ ...hunk, oldStart: Math.min(hunk.oldStart, lines + 1) }));
  const patched = applyPatch(text, { ...patch, hunks }, { fuzzFactor: 0 });
  if (patched === false) return { problem: 'a hunk fits nowhere in it; nothing was changed' };
  if (target === null && patched !== '') return { problem: 'the patch removes it, but it holds more than the patch says' };
  return { text: patched };
}

function toProblem(detail: string): ReadPatch {
  return { kind: 'problem', detail };
}
