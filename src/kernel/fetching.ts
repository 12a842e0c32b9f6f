import type { Digest } from './ids.ts';

/** Says how a sandbox gets files that Muster does not send it. */
export type FetchWay =
  /** The sandbox fetches them for itself. */
  | 'pull'
  /** One cache beside several sandboxes serves them all. It is kept only while evaluations need it. */
  | 'shared-cache';

/** A file and the addresses that it can be fetched from. */
export interface LinkedFile {
  /** Relative path in its checkpoint, with `/` between the parts. */
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  readonly digest: Digest;
  /** The URL at Muster. It is a secret: it grants reading the file for a limited time. */
  readonly url: string;
  /** The file's origin, from which it may be fetched without Muster. Also a secret. The file there may have changed or be gone. */
  readonly bucketUrl?: string | undefined;
}

/** The files of a checkpoint, to be fetched together. */
export interface FetchOrder {
  readonly digest: Digest;
  readonly files: readonly LinkedFile[];
}

/** What a sandbox can fetch for itself. */
export interface Fetching {
  /** The ways that it supports, cheapest first. */
  readonly ways: readonly FetchWay[];
  /**
   * Fetches all files: afterwards either all are there, whole, verified and read-only, or none is. Repeating it for files that are there
   * costs nothing.
   *
   * @returns the absolute path inside of their directory. @throws InfrastructureError `sandbox.fetch` naming the file and the cause;
   * `sandbox.gone`; the signal's reason.
   */
  fetch(way: FetchWay, order: FetchOrder, signal: AbortSignal): Promise<string>;
}
