import { InputError } from '../../kernel/errors.ts';
import { parseDigest, type Digest } from '../../kernel/ids.ts';
import type { CheckpointSource } from '../checkpoint-source.ts';
import type { CheckpointStore } from './checkpoint-store.ts';
import type { StoredCheckpoint } from '../stored-checkpoint.ts';
import type { CheckpointLabels } from '../checkpoint.ts';

/** A URI with the expected content: it ends with `#sha256=<hex>`, the digest that Muster gives a file or directory. */
export interface PinnedUri {
  readonly uri: string;
  /** When it is undefined, any content is accepted. */
  readonly expected: Digest | undefined;
}

const PIN = /^(?<uri>.*)#sha256=(?<hex>[^#]*)$/is;

/** @throws InputError `checkpoint.uri` when the digest is malformed. */
export function parsePinnedUri(written: string): PinnedUri {
  const { uri, hex = '' } = PIN.exec(written)?.groups ?? {};
  if (uri === undefined) return { uri: written, expected: undefined };
  if (/^[0-9a-f]{64}$/i.test(hex)) return { uri, expected: parseDigest(`sha256:${hex.toLowerCase()}`) };
  throw new InputError('checkpoint.uri', `checkpoint: #sha256=${hex.slice(0, 80)} is not a digest; expected 64 hexadecimal digits`);
}

/**
 * Adds a checkpoint as `CheckpointStore.add` does, for a URI that may be pinned. @throws InputError `checkpoint.digest` when the content
 * has another digest.
 */
export async function addPinned(
  store: CheckpointStore,
  source: CheckpointSource,
  { uri, expected }: PinnedUri,
  signal: AbortSignal,
  labels: CheckpointLabels = {},
): Promise<StoredCheckpoint> {
  const stored = await store.add(source, uri, signal, labels);
  if (expected === undefined || stored.digest === expected) return stored;
  throw new InputError('checkpoint.digest', `checkpoint: ${uri} has the digest ${stored.digest}; expected ${expected}, as the URI says`);
}
