import { CheckpointChangedError, type CheckpointListing, type ListedFile } from '../checkpoint-source.ts';

/** Holding a source to what it has listed. */

/** Passes on exactly as many bytes as were listed. */
export async function* readWholeFile(file: ListedFile, bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let read = 0;
  for await (const chunk of bytes) {
    read += chunk.length;
    if (read > file.size) throw new CheckpointChangedError(file.address, `more bytes came than the ${file.size} that were listed`);
    yield chunk;
  }
  if (read !== file.size) throw new CheckpointChangedError(file.address, `${read} bytes came, ${file.size} were listed`);
}

/** Files that are each complete may still be of two versions, when a writer came between the reads. */
export function assertSameListing(uri: string, before: CheckpointListing, after: CheckpointListing): void {
  const left = new Map(after.files.map((file) => [file.path, file]));
  for (const { path, address, revision } of before.files) {
    const now = left.get(path);
    if (now === undefined) throw new CheckpointChangedError(address, 'it is gone');
    if (now.revision !== revision) throw new CheckpointChangedError(address, `was ${revision}, is ${now.revision}`);
    left.delete(path);
  }
  for (const { address } of left.values()) throw new CheckpointChangedError(address, `it is new in ${uri}`);
}
