/** A file of a repository, as git stores it: no filter has touched it. */
export interface SourceFile {
  readonly content: Buffer;
  readonly executable: boolean;
}

/** Files by their paths, which are relative, plain and UTF-8. */
export type SourceFiles = ReadonlyMap<string, SourceFile>;

/** Bounds on reading one commit. A repository beyond them is refused. */
export const TREE_BOUNDS = { files: 8_000, bytes: 128 * 2 ** 20, fileBytes: 32 * 2 ** 20 } as const;

/** @returns the text; undefined for a file that is not there, or no text. */
export function readText(files: SourceFiles, path: string): string | undefined {
  const content = files.get(path)?.content;
  return content === undefined || content.includes(0) ? undefined : content.toString('utf8');
}

/** Replaces some of the files. @param over undefined: the file is removed. */
export function replaceFiles(files: SourceFiles, over: ReadonlyMap<string, SourceFile | undefined>): SourceFiles {
  const result = new Map(files);
  for (const [path, file] of over)
    if (file === undefined) result.delete(path);
    else result.set(path, file);
  return result;
}

/** Returns the files that differ between two trees: as the second has them, undefined where it has none. */
export function compareFiles(before: SourceFiles, after: SourceFiles): ReadonlyMap<string, SourceFile | undefined> {
  const changed = new Map<string, SourceFile | undefined>();
  for (const [path, file] of after) {
    const old = before.get(path);
    if (old === undefined || old.executable !== file.executable || !old.content.equals(file.content)) changed.set(path, file);
  }
  for (const path of before.keys()) if (!after.has(path)) changed.set(path, undefined);
  return new Map([...changed].sort(([a], [b]) => (a < b ? -1 : 1)));
}
