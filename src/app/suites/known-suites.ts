import { LRUCache } from 'lru-cache';
import { filesystemSource } from '../../adapters/checkpoints/filesystem.ts';
import type { StopOverride } from '../../orchestrator/suite/suite-definition.ts';
import { readSuite, type ReadSuite } from './suite-input.ts';

/** An entry takes some kilobytes. */
const MOST_KNOWN = 200;

interface KnownSuite {
  readonly revision: string;
  readonly read: ReadSuite;
}

/**
 * Suite files as this process last read them: an unchanged one is not read and checked again. A file that has changed just now is not cached, as its
 * next change may look the same. Part of the composition root.
 */
export class KnownSuites {
  readonly #known = new LRUCache<string, KnownSuite>({ max: MOST_KNOWN });

  /** @throws InputError as `readSuite` does. */
  async read(path: string, stop: StopOverride | undefined, signal: AbortSignal): Promise<ReadSuite> {
    const key = selectKey(path, stop);
    const revision = await readSettledRevision(path, signal);
    const known = this.#known.get(key);
    if (known && known.revision === revision) return known.read;
    const read = await readSuite({ suite: path, ...(stop ? { stop } : {}) });
    // The file that names a directory of tasks does not show whether the tasks have changed.
    if (revision !== undefined && read.ignores === undefined) this.#known.set(key, { revision, read });
    return read;
  }
}

function selectKey(path: string, stop: StopOverride | undefined): string {
  return JSON.stringify([path, stop]);
}

/** Returns undefined when it cannot be known, or there is no such file: reading it gives the reason. */
async function readSettledRevision(path: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    const { kind, files } = await filesystemSource.list(path, { signal, maxFiles: 1 });
    const [file] = files;
    return kind === 'file' && file?.isSettled === true ? `${file.address} ${file.revision}` : undefined;
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}
