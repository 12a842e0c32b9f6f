import type { Digest } from './ids.ts';

/** How files come to where a sandbox sees them without Muster sending them there. */
export type FetchWay =
  /** The sandbox has them fetched for itself. */
  | 'pull'
  /** One copy beside the sandbox serves several of them. It is kept only while evaluations ask for it. */
  | 'shared-cache';

/** A file, and where it is had. */
export interface LinkedFile {
  /** In its checkpoint: relative, `/` between its parts. */
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  readonly digest: Digest;
  /** At Muster. A secret: it grants reading the file for a limited time. */
  readonly url: string;
  /** Where the file came from, and may be had without Muster sending it. As secret. What is there by now may be another file, or nothing. */
  readonly bucketUrl?: string | undefined;
}

/** The files of a checkpoint, to be fetched together. */
export interface FetchOrder {
  /** Of the checkpoint. */
  readonly digest: Digest;
  readonly files: readonly LinkedFile[];
}

/** What a sandbox can fetch for itself. */
export interface Fetching {
  /** Those that it has, the cheapest first. */
  readonly ways: readonly FetchWay[];
  /**
   * All files are there then, whole, verified and read-only, or none is. Asking again for what is there costs nothing.
   *
   * @returns the absolute path inside of the directory that they are in.
   * @throws InfrastructureError `sandbox.fetch` naming the file and the cause; `sandbox.gone`; the signal's reason.
   */
  fetch(way: FetchWay, order: FetchOrder, signal: AbortSignal): Promise<string>;
}
