import { chmod, link, mkdir, open, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { ReadEntry } from 'tar';
import { InputError } from '../../kernel/errors.ts';
import type { Digest } from '../../kernel/ids.ts';
import { escapeUnprintableLine } from '../../kernel/text/printable.ts';
import { readTar, createTooLargeError } from './tar-entries.ts';

/** Ordinary images have far smaller layers. */
export const LAYER_BOUNDS = { bytes: 16 * 2 ** 30, entries: 1_000_000, depth: 128, name: 255, link: 4095 };

/** Files below that a layer removes (OCI image specification, layer.md). */
export interface Whiteouts {
  /** Paths that are gone. */
  readonly gone: readonly string[];
  /** Directories of which nothing is left. */
  readonly opaque: readonly string[];
}

const WHITEOUT = '.wh.';
const OPAQUE = '.wh..wh..opq';
type Kind = 'directory' | 'file' | 'link';

/**
 * Unpacks a layer into an empty directory, which no other process writes to. Nothing is written through a link: entries below one are refused, and so
 * are names that leave the directory, devices, and entries beyond the bounds. Devices below /dev are left out, because every sandbox has its own.
 * Users, times and set-user-ID bits are not kept: everything belongs to the user that runs Muster, and is readable by all.
 *
 * @param where names the layer for messages. @throws InputError that names the entry.
 */
export async function unpackLayer(
  where: string,
  archive: Readable,
  directory: string,
  signal: AbortSignal,
  bounds = LAYER_BOUNDS,
): Promise<Whiteouts & { readonly digest: Digest }> {
  const unpacking = new Unpacking(where, directory, bounds);
  const { digest } = await readTar(where, archive, bounds.bytes, (entry) => unpacking.take(entry), signal);
  return { digest, gone: unpacking.gone, opaque: unpacking.opaque };
}

class Unpacking {
  readonly gone: string[] = [];
  readonly opaque: string[] = [];
  readonly #where: string;
  readonly #top: string;
  readonly #bounds: typeof LAYER_BOUNDS;
  readonly #kinds = new Map<string, Kind>([['', 'directory']]);
  #entries = 0;

  constructor(where: string, top: string, bounds: typeof LAYER_BOUNDS) {
    this.#where = where;
    this.#top = top;
    this.#bounds = bounds;
  }

  async take(entry: ReadEntry): Promise<void> {
    this.#entries += 1;
    if (this.#entries > this.#bounds.entries) throw this.#createRefusal(entry.path, `is one entry more than ${this.#bounds.entries}`);
    const path = this.#resolvePath(entry.path);
    const [parent, name] = split(path);
    await this.#makeDirectory(parent, entry.path);
    if (name === OPAQUE) this.opaque.push(parent);
    else if (name.startsWith(WHITEOUT))
      this.gone.push(parent === '' ? name.slice(WHITEOUT.length) : `${parent}/${name.slice(WHITEOUT.length)}`);
    else await this.#placeEntry(entry, path);
    entry.resume();
  }

  async #placeEntry(entry: ReadEntry, path: string): Promise<void> {
    switch (entry.type) {
      case 'Directory':
        return this.#makeDirectory(path, entry.path);
      case 'File':
      case 'OldFile':
      case 'ContiguousFile':
        return this.#write(entry, path);
      case 'SymbolicLink':
        return this.#link(entry, path);
      case 'Link':
        return this.#makeHardLink(entry, path);
      case 'CharacterDevice':
      case 'BlockDevice':
      case 'FIFO':
        if (path.startsWith('dev/')) return;
        throw this.#createRefusal(entry.path, 'is a device or a pipe');
      default:
        throw this.#createRefusal(entry.path, `is of the kind "${entry.type}"`);
    }
  }

  #resolvePath(written: string): string {
    if (written.startsWith('/')) throw this.#createRefusal(written, 'has an absolute name');
    const names = written.split('/').filter((name) => name !== '' && name !== '.');
    if (names.includes('..')) throw this.#createRefusal(written, 'leaves the layer by ".."');
    if (names.length > this.#bounds.depth) throw this.#createRefusal(written, `is more than ${this.#bounds.depth} directories deep`);
    if (names.some((name) => Buffer.byteLength(name) > this.#bounds.name || name.includes('\0')))
      throw this.#createRefusal(written, `has a name of more than ${this.#bounds.name} bytes, or with a NUL`);
    return names.join('/');
  }

  /** Makes the directory and its parents. */
  async #makeDirectory(path: string, written: string): Promise<void> {
    const kind = this.#kinds.get(path);
    if (kind === 'directory') return;
    if (kind !== undefined) throw this.#createRefusal(written, `would lie in or at ${escapeUnprintableLine(path)}, which is a ${kind}`);
    await this.#makeDirectory(split(path)[0], written);
    await mkdir(join(this.#top, path));
    // Whatever the mask of this process is.
    await chmod(join(this.#top, path), 0o755);
    this.#kinds.set(path, 'directory');
  }

  async #write(entry: ReadEntry, path: string): Promise<void> {
    if (entry.size > this.#bounds.bytes)
      throw createTooLargeError(`${this.#where}: ${escapeUnprintableLine(entry.path)}`, this.#bounds.bytes);
    await this.#makeRoom(path, entry.path);
    const isExecutable = ((entry.mode ?? 0) & 0o111) !== 0;
    await using file = await open(join(this.#top, path), 'wx');
    await file.chmod(isExecutable ? 0o755 : 0o644);
    for await (const chunk of entry) await file.writeFile(chunk);
    this.#kinds.set(path, 'file');
  }

  /** Makes any link, wherever it points to: only programs in a sandbox follow it, whose root is the root file system. */
  async #link({ path: written, linkpath = '' }: ReadEntry, path: string): Promise<void> {
    if (linkpath === '' || linkpath.includes('\0') || Buffer.byteLength(linkpath) > this.#bounds.link)
      throw this.#createRefusal(written, 'is a link without a target, or with one that is too long');
    await this.#makeRoom(path, written);
    await symlink(linkpath, join(this.#top, path));
    this.#kinds.set(path, 'link');
  }

  async #makeHardLink({ path: written, linkpath = '' }: ReadEntry, path: string): Promise<void> {
    const target = this.#resolvePath(linkpath);
    const kind = this.#kinds.get(target);
    if (kind === undefined || kind === 'directory' || path === target)
      throw this.#createRefusal(written, `is a hard link to ${escapeUnprintableLine(linkpath)}, which is no file of this layer before it`);
    await this.#makeRoom(path, written);
    await link(join(this.#top, target), join(this.#top, path));
    this.#kinds.set(path, kind);
  }

  /** A later entry replaces an earlier one. */
  async #makeRoom(path: string, written: string): Promise<void> {
    const kind = this.#kinds.get(path);
    if (kind === 'directory') throw this.#createRefusal(written, 'takes the place of a directory');
    if (kind !== undefined) await rm(join(this.#top, path));
  }

  #createRefusal(path: string, problem: string): InputError {
    return new InputError(
      'image.layer',
      `${this.#where}: ${escapeUnprintableLine(path.slice(0, 1000))} ${problem}; such a layer is not unpacked`,
    );
  }
}

function split(path: string): readonly [string, string] {
  const at = path.lastIndexOf('/');
  return at === -1 ? ['', path] : [path.slice(0, at), path.slice(at + 1)];
}

/** Keeps what a layer takes away beside its files. */
export async function writeWhiteouts(file: string, { gone, opaque }: Whiteouts): Promise<void> {
  await writeFile(file, JSON.stringify({ gone, opaque }));
}
