import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { REPOSITORY } from './empty-place.ts';

const lockSchema = z.object({ packages: z.record(z.string(), z.looseObject({ dev: z.boolean().optional() })) });
const packageSchema = z.looseObject({ name: z.string(), version: z.string() });

export interface LockedProject {
  readonly project: object;
  readonly lock: object;
  /** Of the directories of all packages that it needs, from that of the project. */
  readonly names: readonly string[];
}

/**
 * A project that stands on the packed package, and its lock: the versions that the repository's lock has. Their archives are in npm's cache
 * since the repository's own packages were installed, under the digests that the lock names. Without a lock npm would ask for the
 * descriptions of hundreds of packages, which takes minutes where the registry is slow.
 */
export async function lockedProject(archive: string): Promise<LockedProject> {
  const { packages } = lockSchema.parse(JSON.parse(await readFile(path.join(REPOSITORY, 'package-lock.json'), 'utf8')));
  const needed = Object.entries(packages).filter(([place, { dev }]) => place !== '' && dev !== true);
  const packed = packageSchema.parse(JSON.parse(await readFile(path.join(REPOSITORY, 'dist/package/package.json'), 'utf8')));
  const project = { type: 'module', private: true, dependencies: { [packed.name]: `file:${archive}` } };
  const places = {
    '': project,
    [`node_modules/${packed.name}`]: { ...packed, resolved: `file:${archive}` },
    ...Object.fromEntries(needed),
  };
  return { project, names: needed.map(([place]) => place), lock: { lockfileVersion: 3, requires: true, packages: places } };
}
