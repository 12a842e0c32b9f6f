/** A file that is inspected without loading it. */
export interface NamedFile {
  /** Its suffix gives the format. */
  readonly path: string;
  /** It is shown to people. */
  readonly address: string;
  /** Bytes. */
  readonly size: number;
}
