import { z } from 'zod';
import { isDigest, type Digest } from '../../kernel/ids.ts';
import { digestBytes } from '../../kernel/canonical-json.ts';
import type { KeptEntry, WorkspaceDelta } from '../workspace/workspace-snapshots.ts';

const path = z.string();

const entrySchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('file'), path, digest: z.string().refine(isDigest), bytes: z.int().min(0), executable: z.boolean() }),
  z.strictObject({ kind: z.literal('link'), path, target: z.string() }),
  z.strictObject({ kind: z.literal('directory'), path }),
]);

/** What a step did to the files of the workspace; contents are kept apart, by their digests. */
export const stepDeltaSchema = z.strictObject({ changed: z.array(entrySchema), removed: z.array(path) });

export type StepEntry = z.infer<typeof entrySchema>;
export type StepDelta = z.infer<typeof stepDeltaSchema>;

/** Contents of files, each once, by what they are. */
export interface FileContents {
  /** Does nothing when it is there. */
  keep(digest: Digest, content: Buffer): Promise<void>;
  /** @throws InfrastructureError when it is not there, or another by now. */
  read(digest: Digest): Promise<Buffer>;
}

/** The delta of a step, once all contents are kept. */
export async function keepDelta({ entries, removed }: WorkspaceDelta, contents: FileContents): Promise<StepDelta> {
  const changed: StepEntry[] = [];
  for (const entry of entries) {
    if (entry.kind === 'file') {
      const { path: where, content, executable } = entry;
      const digest = digestBytes(content);
      await contents.keep(digest, content);
      changed.push({ kind: 'file', path: where, digest, bytes: content.length, executable });
    } else changed.push(entry);
  }
  return { changed, removed: [...removed] };
}

/** The files after some steps, by path: those that the task brings, and what the steps have made of them. */
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

/** Everything that is to be in a workspace. @param brought what the task brings. */
export async function restoreEntries(
  brought: readonly KeptEntry[],
  deltas: readonly StepDelta[],
  contents: FileContents,
): Promise<readonly KeptEntry[]> {
  const { entries, removed } = applyDeltas(deltas);
  const changed = new Set(entries.map((entry) => entry.path));
  const kept: KeptEntry[] = brought.filter((entry) => !changed.has(entry.path) && !removed.has(entry.path));
  for (const entry of entries) {
    if (entry.kind === 'file')
      kept.push({ kind: 'file', path: entry.path, executable: entry.executable, content: await contents.read(entry.digest) });
    else kept.push(entry);
  }
  return kept;
}
