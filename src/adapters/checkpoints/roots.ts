import { realpath } from 'node:fs/promises';
import { sep } from 'node:path';
import { InputError } from '../../kernel/errors.ts';

/** Directories outside of which nothing may be read. */
export class Roots {
  readonly #roots: readonly string[];

  /** @param roots absolute paths. */
  constructor(roots: readonly string[]) {
    this.#roots = roots;
  }

  /** Checks before anything is looked up. @param path absolute, with links. @throws InputError `checkpoint.outside` */
  async assertNamedInside(path: string): Promise<void> {
    if (this.#roots.some((root) => isInside(root, path))) return;
    if (!(await this.#resolveRoots()).some((root) => isInside(root, path))) throw createOutsideError(path);
  }

  /** @param real path without links. @param given the path as the caller wrote it. @throws InputError `checkpoint.outside` */
  async assertInside(real: string, given: string): Promise<void> {
    if (!(await this.#resolveRoots()).some((root) => isInside(root, real))) throw createOutsideError(given);
  }

  /** Resolves the existing roots at their present real paths: a root may be a link, or be mounted later. */
  async #resolveRoots(): Promise<readonly string[]> {
    const roots = await Promise.all(this.#roots.map((root) => realpath(root).catch(() => undefined)));
    return roots.filter((root) => root !== undefined);
  }
}

export function isInside(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}

function createOutsideError(path: string): InputError {
  return new InputError(
    'checkpoint.outside',
    `checkpoint: ${path} is outside of the directories that may be read; expected a path in one of sources.roots, or upload the checkpoint`,
  );
}
