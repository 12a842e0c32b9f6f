import { z } from 'zod';
import { isDigest, type Digest } from '../../kernel/ids.ts';
import { digestBytes } from '../../kernel/canonical-json.ts';
import type { AgentEpisodeId } from './episode-ids.ts';
import type { WorkspaceEntry, WorkspaceDelta } from '../workspace/workspace-snapshots.ts';

const path = z.string();

const entrySchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('file'),
    path,
    digest: z.string().refine(isDigest),
    bytes: z.int().min(0),
    executable: z.boolean(),
    content: z.base64().optional(),
  }),
  z.strictObject({ kind: z.literal('link'), path, target: z.string() }),
  z.strictObject({ kind: z.literal('directory'), path }),
]);

/** A step's changes of the workspace's files. Small contents are in it; others are stored separately, by digest. */
export const stepDeltaSchema = z.strictObject({
  changed: z.array(entrySchema),
  removed: z.array(path),
  /** Whether it also has the changes of the steps before it that were not stored. */
  catchesUp: z.literal(true).optional(),
});

export type StepEntry = z.infer<typeof entrySchema>;
export type StepDelta = z.infer<typeof stepDeltaSchema>;

/** Contents of files, each once for an episode and all its forks. */
export interface FileContents {
  /** Skips contents that are stored already. */
  keep(tree: AgentEpisodeId, contents: ReadonlyMap<Digest, Buffer>): Promise<void>;
  /** @returns undefined when it is missing, or its bytes no longer have this digest. */
  read(tree: AgentEpisodeId, digest: Digest): Promise<Buffer | undefined>;
  /** Removes all of them. */
  forget(tree: AgentEpisodeId): Promise<void>;
}

/**
 * Bytes of contents that are stored in the step itself: of one file, and of all. They need only one write to the disk; larger ones would make steps
 * slow to read.
 */
const INLINE = { file: 16 * 1024, all: 64 * 1024 } as const;

/** Stores the contents of a step's changed files, and then returns the delta of the step. */
export async function keepDelta({ entries, removed }: WorkspaceDelta, contents: FileContents, tree: AgentEpisodeId): Promise<StepDelta> {
  const changed: StepEntry[] = [];
  const apart = new Map<Digest, Buffer>();
  let left: number = INLINE.all;
  for (const entry of entries) {
    if (entry.kind !== 'file') {
      changed.push(entry);
      continue;
    }
    const { path: where, content, executable } = entry;
    const file = { kind: 'file' as const, path: where, digest: digestBytes(content), bytes: content.length, executable };
    const isInline = content.length <= Math.min(left, INLINE.file);
    if (isInline) left -= content.length;
    else apart.set(file.digest, content);
    changed.push(isInline ? { ...file, content: content.toString('base64') } : file);
  }
  if (apart.size > 0) await contents.keep(tree, apart);
  return { changed, removed: [...removed] };
}

/** @returns undefined when it is missing, or its bytes no longer have its digest. */
export async function readContent(
  entry: Extract<StepEntry, { kind: 'file' }>,
  contents: FileContents,
  tree: AgentEpisodeId,
): Promise<Buffer | undefined> {
  return entry.content === undefined ? await contents.read(tree, entry.digest) : Buffer.from(entry.content, 'base64');
}

/** Combines the changes of steps in order: the files that they leave changed and those that they leave removed. */
export function applyDeltas(deltas: readonly StepDelta[]): {
  readonly entries: readonly StepEntry[];
  readonly removed: ReadonlySet<string>;
} {
  const entries = new Map<string, StepEntry>();
  const removed = new Set<string>();
  for (const delta of deltas) {
    for (const each of delta.removed) {
      entries.delete(each);
      removed.add(each);
    }
    for (const entry of delta.changed) {
      entries.set(entry.path, entry);
      removed.delete(entry.path);
    }
  }
  return { entries: [...entries.values()], removed };
}

/** Returns everything that a workspace has to contain. @param brought the task's own files. @returns undefined when a content is no longer stored. */
export async function restoreEntries(
  brought: readonly WorkspaceEntry[],
  deltas: readonly StepDelta[],
  contents: FileContents,
  tree: AgentEpisodeId,
): Promise<readonly WorkspaceEntry[] | undefined> {
  const { entries, removed } = applyDeltas(deltas);
  const changed = new Set(entries.map((entry) => entry.path));
  const kept: WorkspaceEntry[] = brought.filter((entry) => !changed.has(entry.path) && !removed.has(entry.path));
  for (const entry of entries) {
    if (entry.kind === 'file') {
      const content = await readContent(entry, contents, tree);
      if (content === undefined) return undefined;
      kept.push({ kind: 'file', path: entry.path, executable: entry.executable, content });
    } else kept.push(entry);
  }
  return kept;
}
