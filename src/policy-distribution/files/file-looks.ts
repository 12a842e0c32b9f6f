import { lstat, readdir, realpath, stat } from 'node:fs/promises';

/** Times are nanoseconds since 1970. */
export interface FileNumbers {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly nlink: bigint;
  /** Bytes. */
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
}

/** What is said of a file without opening it. */
export interface FileStats extends FileNumbers {
  isFile(): boolean;
  isDirectory(): boolean;
  isFIFO(): boolean;
  isSocket(): boolean;
}

export interface DirectoryEntry {
  readonly name: string;
  isFile(): boolean;
}

/** Looks at files and directories as they are now. @throws the system's errors, with their `code`. */
export interface FileLooks {
  /** The path without links. */
  real(path: string): Promise<string>;
  stats(path: string): Promise<FileStats>;
  /** Of a link, its own. */
  ownStats(path: string): Promise<FileStats>;
  entries(path: string): Promise<readonly DirectoryEntry[]>;
}

/** Each look by a thread of Node's own, some at a time. */
export const directLooks: FileLooks = {
  real: (path) => realpath(path),
  stats: (path) => stat(path, { bigint: true }),
  ownStats: (path) => lstat(path, { bigint: true }),
  entries: (path) => readdir(path, { withFileTypes: true }),
};
