/** What stands in /tests when a step is graded, by path in there. */
export interface TestFiles {
  has(path: string): boolean;
  hasDirectory(path: string): boolean;
  /** Undefined for a file that is not read whole. */
  bytes(path: string): Uint8Array | undefined;
  /** As messages call it. */
  name(path: string): string;
}
