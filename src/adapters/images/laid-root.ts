import { chmod, link, lstat, mkdir, readdir, readlink, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Whiteouts } from './unpacked-layer.ts';

/**
 * Lays a layer over those below it in a directory, with hard links in place of copies and the result of an overlay: a directory joins the one below,
 * everything else replaces it. Nothing is followed: a link in place of a directory hides its target.
 *
 * @param layer directory with its files. Both have to be on one file system.
 */
export async function layOver(root: string, layer: string, { gone, opaque }: Whiteouts, signal: AbortSignal): Promise<void> {
  for (const directory of opaque) {
    if (!(await isBelowDirectories(root, directory))) continue;
    const found = await lstat(join(root, directory)).catch(() => undefined);
    if (!found?.isDirectory()) continue;
    for (const name of await readdir(join(root, directory))) await rm(join(root, directory, name), { recursive: true });
  }
  for (const path of gone)
    if (await isBelowDirectories(root, getParent(path))) await rm(join(root, path), { recursive: true, force: true });
  await layDirectory(root, layer, '', signal);
}

async function layDirectory(root: string, layer: string, path: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  for (const entry of await readdir(join(layer, path), { withFileTypes: true })) {
    const below = path === '' ? entry.name : `${path}/${entry.name}`;
    const [source, target] = [join(layer, below), join(root, below)];
    const there = await lstat(target).catch(() => undefined);
    const joins = entry.isDirectory() && there?.isDirectory() === true;
    if (there && !joins) await rm(target, { recursive: true });
    if (entry.isDirectory()) {
      if (!joins) {
        await mkdir(target);
        await chmod(target, 0o755);
      }
      await layDirectory(root, layer, below, signal);
    } else if (entry.isSymbolicLink()) await symlink(await readlink(source), target);
    else await link(source, target);
  }
}

/** Whether all parts of the path are directories, the last one included. */
async function isBelowDirectories(root: string, path: string): Promise<boolean> {
  const names = path === '' ? [] : path.split('/');
  for (const [i] of names.entries()) {
    const found = await lstat(join(root, ...names.slice(0, i + 1))).catch(() => undefined);
    if (!found?.isDirectory()) return false;
  }
  return true;
}

function getParent(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}
