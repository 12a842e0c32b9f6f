/** A task's directory that is about to be written. */
export interface WrittenTask {
  /** Name of the directory. */
  readonly name: string;
  readonly files: readonly WrittenFile[];
  /** Remarks for its reader: one sentence each. */
  readonly notices: readonly string[];
}

export interface WrittenFile {
  readonly path: string;
  /** A submission's may be no text. */
  readonly text: string | Uint8Array;
  readonly isExecutable: boolean;
}

/** Makes a file; one whose name ends in `.sh` is executable. */
export function toWrittenFile(path: string, text: string): WrittenFile {
  return { path, text, isExecutable: path.endsWith('.sh') };
}
