import { createHash } from 'node:crypto';
import { isWeightsFile } from '../../policy-distribution/checkpoint.ts';
import { getDataFileName } from '../../policy-distribution/data-beside.ts';
import type { ListedFile } from '../../policy-distribution/checkpoint-source.ts';

/**
 * The checkpoints in a run's directory: each file of weights directly in it, and each directory directly in it with a `muster.json` or with weights
 * somewhere below.
 */
export interface FoundCheckpoint {
  /** Name of the file or directory in the run's directory. */
  readonly name: string;
  readonly kind: 'file' | 'directory';
  /** Differs when any of its files does: which version of the name this is. */
  readonly fingerprint: string;
  /** Whether the file exists with which the writer says that it is done. */
  readonly isMarked: boolean;
}

/** @param marker name of a file in a checkpoint's directory; for a checkpoint of one file, its own name followed by a dot and the marker. */
export function findCheckpointsIn(files: readonly ListedFile[], marker: string | undefined): readonly FoundCheckpoint[] {
  const byName = Map.groupBy(files, ({ path }) => path.split('/', 1)[0] ?? path);
  return [...byName].flatMap(([name, below]): readonly FoundCheckpoint[] => {
    if (!below.some(({ path }) => isWeightsFile(path) || path === `${name}/muster.json`)) return [];
    const isFile = below.some(({ path }) => path === name);
    const isMarked =
      marker !== undefined && (isFile ? byName.has(`${name}.${marker}`) : below.some(({ path }) => path === `${name}/${marker}`));
    const beside = isFile ? (byName.get(getDataFileName(name) ?? '') ?? []) : [];
    return [{ name, kind: isFile ? 'file' : 'directory', fingerprint: digestListing([...below, ...beside]), isMarked }];
  });
}

/** Sorts the newest first: `step-1000` is after `step-900`, as people count. */
export function sortNewestFirst(checkpoints: readonly FoundCheckpoint[]): readonly FoundCheckpoint[] {
  return checkpoints.toSorted((a, b) => compareNames(b.name, a.name));
}

/** Returns a number below 0 when `a` is the older. */
export function compareNames(a: string, b: string): number {
  return NAMES.compare(a, b) || (a < b ? -1 : 1);
}

const NAMES = new Intl.Collator('en', { numeric: true });

function digestListing(files: readonly ListedFile[]): string {
  const lines = files.map(({ path, size, revision }) => JSON.stringify([path, size, revision]));
  return createHash('sha256').update(lines.sort().join('\n')).digest('hex');
}
