import { inspect } from './checkpoint-checks.ts';
import type { DeltaIndex } from '../delta/delta-format.ts';
import { readDeltaIndex, type DeltaIndexOrder } from '../delta/delta-index.ts';
import { readLayout, type Segment } from '../delta/delta-layout.ts';
import { readContents, type FileContents, type Take } from '../formats/file-contents.ts';
import { readManifest, type ManifestEntry, type ManifestOrder } from './manifest.ts';
import type { NamedFile } from '../formats/named-file.ts';
import type { ReadAt } from '../formats/read-at.ts';

/** Questions about untrusted bytes, and their answers. All of it can be sent between threads. */
export interface Readings {
  /** Whether the file has the format of its suffix: see `inspect`. */
  readonly check: { readonly order: NamedFile & { readonly beside?: ReadonlySet<string> | undefined }; readonly answer: void };
  /** See `readLayout`. */
  readonly layout: { readonly order: NamedFile; readonly answer: readonly Segment[] };
  /** See `readContents`. */
  readonly contents: { readonly order: NamedFile; readonly answer: FileContents };
  /** See `readManifest`. */
  readonly manifest: { readonly order: ManifestOrder; readonly answer: readonly ManifestEntry[] };
  /** See `readDeltaIndex`. */
  readonly deltaIndex: { readonly order: DeltaIndexOrder; readonly answer: DeltaIndex };
}

export type ReadingKind = keyof Readings;
export type Order<Kind extends ReadingKind> = Readings[Kind]['order'];
export type Answer<Kind extends ReadingKind> = Readings[Kind]['answer'];

type Readers = { readonly [Kind in ReadingKind]: (order: Order<Kind>, readAt: ReadAt, take: Take) => Promise<Answer<Kind>> };

const readers: Readers = {
  check: ({ path, address, size, beside }, readAt) => inspect(path, address, size, readAt, beside),
  layout: ({ path, size }, readAt) => readLayout(path, size, readAt),
  contents: readContents,
  manifest: readManifest,
  deltaIndex: readDeltaIndex,
};

/** Reads in this thread, at once. @throws as the reader does. */
export function readHere<Kind extends ReadingKind>(kind: Kind, order: Order<Kind>, readAt: ReadAt, take: Take): Promise<Answer<Kind>> {
  return readers[kind](order, readAt, take);
}
