/** A file that is looked at, and not loaded. */
export interface NamedFile {
  /** Says by its ending what it is. */
  readonly path: string;
  /** For people. */
  readonly address: string;
  /** Bytes. */
  readonly size: number;
}
