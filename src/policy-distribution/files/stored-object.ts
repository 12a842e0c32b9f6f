import { open } from 'node:fs/promises';
import type { Digest } from '../../kernel/ids.ts';
import { digestFile } from './digested-copy.ts';
import type { ReadAt } from '../formats/read-at.ts';
import { translateErrors, readAt } from './store-files.ts';

/** A file that the store keeps under the sha256 of its content. */
export interface StoredObject {
  readonly digest: Digest;
  /** Bytes. */
  readonly size: number;
  /** Absolute; read-only and never changed, so it may be linked or mounted anywhere. It stays as long as its checkpoint is held. */
  readonly hostPath: string;
}

/** Checks a whole file of `size` bytes and its name, and may refuse it. */
export type Inspect = (readAt: ReadAt, size: number, digest: Digest) => Promise<void>;

/** Errors of `inspect` pass through. @throws InfrastructureError `store.unusable` */
export async function inspectObject({ hostPath, size, digest }: StoredObject, inspect: Inspect): Promise<void> {
  await using handle = await translateErrors(hostPath, () => open(hostPath, 'r'));
  await inspect((position, length) => translateErrors(hostPath, () => readAt(handle, position, length)), size, digest);
}

/** Computes the digest of an object's actual content. @throws InfrastructureError `store.unusable`; the signal's reason. */
export async function digestObject({ hostPath }: StoredObject, signal: AbortSignal): Promise<Digest> {
  await using handle = await translateErrors(hostPath, () => open(hostPath, 'r'));
  const { size } = await translateErrors(hostPath, () => handle.stat());
  return (await digestFile(handle, hostPath, size, async () => signal.throwIfAborted())).digest;
}
