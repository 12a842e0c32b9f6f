import { isUtf8 } from 'node:buffer';
import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff';
import type { FileAtStep } from './episode-files.ts';

export interface ChangedFile {
  readonly path: string;
  readonly change: 'added' | 'changed' | 'removed';
  /** Whether the patch shows it: no text, a large file, and what follows many changes are only named. */
  readonly isShown: boolean;
}

export interface WorkspaceDiff {
  readonly files: readonly ChangedFile[];
  /** Unified. */
  readonly patch: string;
}

/** Larger files are named only: comparing lines takes time that grows with their number. */
const MOST_FILE_BYTES = 512 * 1024;
const MOST_PATCH_CHARACTERS = 4 * 2 ** 20;
/** The longest time of one comparison. A file that is changed throughout is shown as removed and added. */
const MOST_MILLISECONDS = 500;

/** Finds how files have changed between two steps. A directory shows in the files in it. */
export async function compareWorkspaces(
  before: ReadonlyMap<string, FileAtStep>,
  after: ReadonlyMap<string, FileAtStep>,
): Promise<WorkspaceDiff> {
  const files: ChangedFile[] = [];
  let patch = '';
  for (const path of [...new Set([...before.keys(), ...after.keys()])].sort()) {
    const [old, now] = [getLeaf(before.get(path)), getLeaf(after.get(path))];
    if (isSame(old, now)) continue;
    const change = old === undefined ? 'added' : now === undefined ? 'removed' : 'changed';
    const part = patch.length < MOST_PATCH_CHARACTERS ? await buildPart(path, old, now) : undefined;
    files.push({ path, change, isShown: part !== undefined });
    patch += part ?? '';
  }
  return { files, patch };
}

type Leaf = Exclude<FileAtStep, { kind: 'directory' }>;

function getLeaf(entry: FileAtStep | undefined): Leaf | undefined {
  return entry?.kind === 'directory' ? undefined : entry;
}

function isSame(old: Leaf | undefined, now: Leaf | undefined): boolean {
  if (old?.kind === 'file' && now?.kind === 'file') return old.digest === now.digest && old.executable === now.executable;
  if (old?.kind === 'link' && now?.kind === 'link') return old.target === now.target;
  return old === now;
}

async function buildPart(path: string, old: Leaf | undefined, now: Leaf | undefined): Promise<string | undefined> {
  const [before, after] = [await readText(old), await readText(now)];
  if (before === undefined || after === undefined) return undefined;
  const names = [old === undefined ? '/dev/null' : `a${path}`, now === undefined ? '/dev/null' : `b${path}`] as const;
  const options = { headerOptions: FILE_HEADERS_ONLY, timeout: MOST_MILLISECONDS };
  return createTwoFilesPatch(names[0], names[1], before, after, undefined, undefined, options) ?? undefined;
}

/** Returns undefined for content that is not shown as text. */
async function readText(entry: Leaf | undefined): Promise<string | undefined> {
  if (entry === undefined) return '';
  if (entry.kind === 'link') return `${entry.target}\n`;
  if (entry.bytes > MOST_FILE_BYTES) return undefined;
  const content = await entry.content();
  return content !== undefined && isUtf8(content) && !content.includes(0) ? content.toString('utf8') : undefined;
}
