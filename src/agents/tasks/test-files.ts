/** The files in /tests when a step is graded, by their paths there. */
export interface TestFiles {
  has(path: string): boolean;
  hasDirectory(path: string): boolean;
  /** Returns undefined for a file that is not read whole. */
  bytes(path: string): Uint8Array | undefined;
  /** Returns the file's name in messages. */
  name(path: string): string;
}
