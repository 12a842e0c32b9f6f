import { createReadStream } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { create } from 'tar';
import type { Daemon } from './daemon.ts';
import { nameSkeleton, type Skeleton } from './skeleton.ts';

const DIRECTORIES = ['dev', 'etc', 'muster', 'proc', 'sys', 'tmp', 'usr'];
const OPEN_TO_ALL = 0o1777;

/** Has the daemon have the image. */
export async function ensureSkeleton(daemon: Daemon, skeleton: Skeleton): Promise<void> {
  const image = nameSkeleton(skeleton);
  if (await daemon.hasImage(image)) return;
  const directory = await mkdtemp(path.join(tmpdir(), 'muster-skeleton-'));
  try {
    const root = path.join(directory, 'root');
    await layOut(root, skeleton);
    const archive = path.join(directory, 'root.tar');
    await create({ cwd: root, file: archive, portable: true }, ['.']);
    await daemon.importImage(image, createReadStream(archive));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function layOut(root: string, { links, files }: Skeleton): Promise<void> {
  for (const name of DIRECTORIES) await mkdir(path.join(root, name), { recursive: true });
  // A tmpfs takes over the mode of the directory that it covers.
  await chmod(path.join(root, 'tmp'), OPEN_TO_ALL);
  for (const [at, to] of Object.entries(links)) {
    await mkdir(path.dirname(path.join(root, at)), { recursive: true });
    await symlink(to, path.join(root, at));
  }
  for (const [at, content] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(root, at)), { recursive: true });
    await writeFile(path.join(root, at), content, { mode: 0o644 });
  }
}
