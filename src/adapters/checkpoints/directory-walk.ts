import type { Dirent } from 'node:fs';
import { lstat, readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import PQueue from 'p-queue';
import { InputError } from '../../kernel/errors.ts';
import { assertCheckpointPath } from '../../policy-distribution/checkpoint.ts';
import { CheckpointChangedError, type ListedFile, type ListOptions } from '../../policy-distribution/checkpoint-source.ts';
import { translateErrors, createLinkError, createSpecialFileError } from './file-failures.ts';
import { toListedFile } from './file-revision.ts';
import { isInside } from './roots.ts';

/**
 * The largest number of directories in a listing, unless as many files are allowed: far more than any checkpoint has, and a few seconds' work. A
 * directory counts once for each path to it: forty nested directories with two links each have a trillion paths.
 */
const MOST_DIRECTORIES = 10_000;

/** Threads that look for files, which takes time where the disk is remote. */
const VISITED_AT_A_TIME = 16;

interface Child {
  readonly entry: Dirent;
  /** Relative to the root. */
  readonly path: string;
}

/** One listing of a directory tree. Symbolic links are followed while they stay inside of it. */
export class DirectoryWalk {
  readonly #root: string;
  readonly #options: ListOptions;
  readonly #files: ListedFile[] = [];
  #directories = 0;

  constructor(root: string, options: ListOptions) {
    this.#root = root;
    this.#options = options;
  }

  async run(): Promise<readonly ListedFile[]> {
    await this.#enter(this.#root, '', [this.#root]);
    return this.#files;
  }

  /** @param chain real paths of the directories above: a link back to one of them would never end. */
  async #enter(directory: string, path: string, chain: readonly string[]): Promise<void> {
    this.#countDirectory();
    const entries = await translateErrors(directory, () => readdir(directory, { withFileTypes: true }));
    const children = entries.map((entry) => ({ entry, path: path === '' ? entry.name : `${path}/${entry.name}` }));
    const wanted = children.filter((child) => this.#options.ignores?.(child.path) !== true);
    for (const child of wanted) assertCheckpointPath(child.path);
    await this.#visitFiles(
      directory,
      wanted.filter(({ entry }) => entry.isFile()),
    );
    for (const { entry, path: childPath } of wanted) {
      this.#options.signal.throwIfAborted();
      if (!entry.isFile()) await this.#visit(join(directory, entry.name), childPath, chain);
    }
  }

  /** The path to a file that is no link is real already. */
  async #visitFiles(directory: string, files: readonly Child[]): Promise<void> {
    const queue = new PQueue({ concurrency: VISITED_AT_A_TIME });
    const visit = async ({ entry, path }: Child): Promise<void> => {
      this.#options.signal.throwIfAborted();
      const address = join(directory, entry.name);
      const stats = await translateErrors(address, () => lstat(address, { bigint: true }));
      if (!stats.isFile()) throw new CheckpointChangedError(address, 'it was replaced during the read');
      this.#add(toListedFile(path, address, stats));
    };
    try {
      await queue.addAll(files.map((file) => () => visit(file)));
    } finally {
      queue.clear();
    }
  }

  async #visit(address: string, path: string, chain: readonly string[]): Promise<void> {
    const real = await translateErrors(address, () => realpath(address));
    if (!isInside(this.#root, real)) throw createLinkError(address, `leads to ${real}, outside of the checkpoint`);
    const stats = await translateErrors(address, () => stat(real, { bigint: true }));
    if (stats.isDirectory()) {
      if (chain.includes(real)) throw createLinkError(address, `leads back to ${real}, which it is in`);
      await this.#enter(real, path, [...chain, real]);
    } else if (stats.isFile()) {
      this.#add(toListedFile(path, real, stats));
    } else throw createSpecialFileError(address, stats);
  }

  #countDirectory(): void {
    const most = Math.max(MOST_DIRECTORIES, this.#options.maxFiles);
    this.#directories += 1;
    if (this.#directories <= most) return;
    const found = `${this.#root} leads through more than ${most} directories, each counted once for every link that leads to it`;
    const remedy = 'name the checkpoint itself, not a directory around it, and put directories in the place of links to them';
    throw new InputError('checkpoint.too-many-directories', `checkpoint: ${found}; ${remedy}`);
  }

  #add(file: ListedFile): void {
    const { maxFiles } = this.#options;
    if (this.#files.length >= maxFiles) {
      const remedy = 'name the checkpoint itself, not a directory around it, or raise checkpoints.maxFiles';
      throw new InputError('checkpoint.too-many-files', `checkpoint: ${this.#root} holds more than ${maxFiles} files; ${remedy}`);
    }
    this.#files.push(file);
  }
}
