import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { InputError, getMessage } from '../../kernel/errors.ts';
import type { Digest } from '../../kernel/ids.ts';
import { hasErrno } from '../../kernel/errno.ts';
import type { ImageLayer, ImageLayers, ImageSettings } from './image-layers.ts';
import { isThere } from '../files/path-contents.ts';
import { layOver } from './laid-root.ts';
import { LAYER_BOUNDS, unpackLayer, type Whiteouts, writeWhiteouts } from './unpacked-layer.ts';

const MAKING = /^making-(?<pid>\d+)-/;
const FILES = 'files';
const WHITEOUTS = 'whiteouts.json';
const settingsSchema = z.object({ environment: z.record(z.string(), z.string()), workdir: z.string() });
const whiteoutsSchema = z.object({ gone: z.array(z.string()), opaque: z.array(z.string()) });

/**
 * Root file systems of images on this machine. A layer is unpacked once, under the digest of its content, and images that have it share its files.
 * Everything is made under a temporary name until it is complete, so a killed Muster leaves nothing that looks like a root.
 */
export class ImageRoots {
  readonly #directory: string;
  readonly #bounds: typeof LAYER_BOUNDS;

  /** @param directory for all of it, on one file system. */
  constructor(directory: string, bounds = LAYER_BOUNDS) {
    this.#directory = directory;
    this.#bounds = bounds;
  }

  /** Finds the root file system that an image makes, if it has been made. */
  async find(digest: Digest): Promise<string | undefined> {
    const root = this.#joinPath('roots', digest);
    return (await this.isWhole(root)) ? root : undefined;
  }

  /** Whether a directory is a root that this version has made. */
  async isWhole(root: string): Promise<boolean> {
    return (await isThere(root)) && (await isThere(getSettingsFile(root)));
  }

  /**
   * @param where names the image for messages. @returns the directory with the image's files. @throws InputError for something that is no image, or
   * one with refused content.
   */
  async unpackImage(where: string, { digest, settings, layers }: ImageLayers, signal: AbortSignal): Promise<string> {
    const root = this.#joinPath('roots', digest);
    if (await isThere(root)) {
      // Missing beside a root that an earlier version has made.
      await this.#noteSettings(root, settings);
      return root;
    }
    const unpacked: string[] = [];
    for (const layer of layers) unpacked.push(await this.#unpackLayer(where, layer, signal));
    await this.#noteSettings(root, settings);
    return this.#makeOnce(root, async (making) => {
      for (const each of unpacked) await layOver(making, join(each, FILES), await readWhiteouts(each), signal);
    });
  }

  /** Reads the configuration of the image that a root was made of. @param root a result of this class. */
  async readSettings(root: string): Promise<ImageSettings> {
    const file = getSettingsFile(root);
    return readOwnFile(file, settingsSchema, await readFile(file, 'utf8'));
  }

  /** Writes the settings beside the root, which contains only the image's own files. */
  async #noteSettings(root: string, settings: ImageSettings): Promise<void> {
    const note = getSettingsFile(root);
    if (await isThere(note)) return;
    const scratch = await this.makeScratchDirectory();
    await writeFile(join(scratch, FILES), JSON.stringify(settings));
    await mkdir(dirname(note), { recursive: true });
    await rename(join(scratch, FILES), note);
    await rm(scratch, { recursive: true });
  }

  /** Removes what processes that are gone have begun. */
  async sweep(): Promise<void> {
    for (const name of await readdir(this.#directory).catch(() => [])) {
      const pid = Number(MAKING.exec(name)?.groups?.['pid']);
      if (Number.isInteger(pid) && !isRunning(pid)) await rm(join(this.#directory, name), { recursive: true, force: true });
    }
  }

  async #unpackLayer(where: string, layer: ImageLayer, signal: AbortSignal): Promise<string> {
    const place = this.#joinPath('layers', layer.digest);
    if (await isThere(place)) return place;
    return this.#makeOnce(place, async (making) => {
      await mkdir(join(making, FILES));
      const name = `image ${where}: layer ${layer.digest.slice(0, 19)}`;
      const found = await unpackLayer(name, layer.open(), join(making, FILES), signal, this.#bounds);
      if (found.digest !== layer.digest)
        throw new InputError('image.invalid', `${name}: does not have the content of its digest; expected the pushed layer`);
      await writeWhiteouts(join(making, WHITEOUTS), found);
    });
  }

  /** Makes a directory whole or not at all. */
  async #makeOnce(place: string, make: (directory: string) => Promise<void>): Promise<string> {
    const directory = await this.makeScratchDirectory();
    try {
      const making = join(directory, 'it');
      await mkdir(making);
      await chmod(making, 0o755);
      await make(making);
      await mkdir(join(place, '..'), { recursive: true });
      await rename(making, place).catch((error: unknown) => {
        // Another process has made the same meanwhile.
        if (!hasErrno(error, 'ENOTEMPTY') && !hasErrno(error, 'EEXIST')) throw error;
      });
      return place;
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  }

  /** Makes a directory that is swept away when this process is gone. */
  async makeScratchDirectory(): Promise<string> {
    await mkdir(this.#directory, { recursive: true });
    return mkdtemp(join(this.#directory, `making-${process.pid}-`));
  }

  #joinPath(kind: 'layers' | 'roots', digest: Digest): string {
    return join(this.#directory, kind, digest.replace(':', '-'));
  }
}

async function readWhiteouts(layer: string): Promise<Whiteouts> {
  return readOwnFile(layer, whiteoutsSchema, await readFile(join(layer, WHITEOUTS), 'utf8'));
}

/** @param where names what to remove when it is damaged. */
function readOwnFile<Schema extends z.ZodType>(where: string, schema: Schema, text: string): z.infer<Schema> {
  try {
    return schema.parse(JSON.parse(text));
  } catch (error) {
    throw new InputError('image.damaged', `${where}: ${getMessage(error)}; expected the files that Muster wrote; remove it`, {
      cause: error,
    });
  }
}

const getSettingsFile = (root: string): string => `${root}.settings.json`;

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !hasErrno(error, 'ESRCH');
  }
}
