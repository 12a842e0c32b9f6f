import { lstat, readdir, readFile, realpath, stat } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { type SourceFile, type SourceFiles, TREE_BOUNDS } from '../../agents/preparation/source/source-files.ts';
import { isPlainPath } from '../../agents/tasks/relative-path.ts';
import { InputError } from '../../kernel/errors.ts';
import { escapeUnprintableLine } from '../../kernel/text/printable.ts';
import { formatExactBytes } from '../../kernel/text/figures.ts';

/** Leftovers of tools, and git's own files. */
const LEFT_OUT = new Set(['.git', '__pycache__', '.pytest_cache', '.hg', '.svn']);

/**
 * Reads the files of a directory that is no git repository, as an unpacked source distribution.
 *
 * @throws InputError `repository.tree` as `GitRepository.files`.
 */
export async function readPlainDirectory(directory: string): Promise<SourceFiles> {
  const top = await realpath(resolve(directory));
  const files = new Map<string, SourceFile>();
  let bytes = 0;
  const walk = async (inside: string): Promise<void> => {
    const names = await readdir(join(top, inside), { encoding: 'buffer' });
    for (const raw of names.sort((a, b) => a.compare(b))) {
      const name = raw.toString('utf8');
      const path = inside === '' ? name : `${inside}/${name}`;
      if (!Buffer.from(name).equals(raw)) throw refuse(`the name ${escapeUnprintableLine(path)} is not UTF-8`);
      if (!isPlainPath(path)) throw refuse(`the name ${escapeUnprintableLine(path)} is one that no tool can handle`);
      if (LEFT_OUT.has(name)) continue;
      const target = await realpath(join(top, path)).catch(() => undefined);
      if (target === undefined) continue;
      if ((await lstat(join(top, path))).isSymbolicLink()) {
        const found = relative(top, target);
        if (found.startsWith('..')) throw refuse(`${path} is a link out of the tree`);
        if (!(await stat(target)).isFile()) continue;
      }
      const found = await stat(target);
      if (found.isDirectory()) await walk(path);
      if (!found.isFile()) continue;
      bytes += found.size;
      if (found.size > TREE_BOUNDS.fileBytes)
        throw refuse(`${path} has ${formatExactBytes(found.size)}; a file has at most ${formatExactBytes(TREE_BOUNDS.fileBytes)}`);
      if (bytes > TREE_BOUNDS.bytes) throw refuse(`its files have more than ${formatExactBytes(TREE_BOUNDS.bytes)} together`);
      if (files.size === TREE_BOUNDS.files) throw refuse(`it has more than ${TREE_BOUNDS.files} files`);
      files.set(path, { content: await readFile(target), executable: (found.mode & 0o100) !== 0 });
    }
  };
  await walk('');
  return files;
}

function refuse(text: string): InputError {
  return new InputError('repository.tree', text);
}
