import { createReadStream } from 'node:fs';
import { chmod, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, posix, resolve } from 'node:path';
import type { RootFileSystem } from '../../agents/tasks/task.ts';
import { formatCanonicalJson, digestBytes } from '../../kernel/canonical-json.ts';
import { InputError } from '../../kernel/errors.ts';
import { escapeUnprintableLine } from '../../kernel/text/printable.ts';
import { buildImage, findKeptImage } from './container-tools.ts';
import { readImage } from './image-layers.ts';
import { ImageRoots } from './image-roots.ts';
import { unpackLayer } from './unpacked-layer.ts';

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

/** The files from which a Dockerfile is built: those of environment/, by their paths there. */
export interface BuildContext {
  /** Every file of environment/. */
  readonly files: readonly { readonly path: string; readonly digest: string; readonly isExecutable: boolean }[];
  read(path: string): Promise<Buffer>;
}

/** Root file systems as directories of this machine. */
export class RootFileSystems {
  readonly #roots: ImageRoots;
  readonly #built: string;
  readonly #opening = new Map<string, Promise<string>>();
  #swept: Promise<void> | undefined;

  /** @param directory where they are stored. */
  constructor(directory: string) {
    this.#roots = new ImageRoots(directory);
    this.#built = join(directory, 'built');
  }

  /**
   * Returns the directory with the files of a root file system.
   *
   * @param context undefined where no Dockerfile is built. @returns undefined for the host's own root.
   * @throws InputError when the image is not found, cannot be built, or works in another directory than the task, with the remedy.
   */
  async openDirectory(root: RootFileSystem, context: BuildContext | undefined, signal: AbortSignal): Promise<string | undefined> {
    if (root.kind === 'host') return undefined;
    const key = formatCanonicalJson({ ...root, files: context?.files.map(({ path, digest }) => [path, digest]) });
    let opening = this.#opening.get(key);
    if (!opening) {
      opening = root.kind === 'image' ? this.#openImage(root.image, signal) : this.#buildDockerfile(root, context, key, signal);
      opening.catch(() => this.#opening.delete(key));
      this.#opening.set(key, opening);
    }
    const directory = await opening;
    assertSameWorkdir(root, (await this.#roots.readSettings(directory)).workdir);
    return directory;
  }

  /** Reads the variables that the image of a directory gives to its programs. @param root that `openDirectory` gave. */
  async readEnvironment(root: string | undefined): Promise<Readonly<Record<string, string>>> {
    return root === undefined ? {} : (await this.#roots.readSettings(root)).environment;
  }

  async #openImage(image: string, signal: AbortSignal): Promise<string> {
    this.#swept ??= this.#roots.sweep();
    await this.#swept;
    const place = resolve(image);
    const found = /^\.{0,2}\//.test(image) ? await stat(place).catch(() => undefined) : undefined;
    if (found?.isDirectory()) return this.#roots.unpackImage(image, await readImage(image, place, getArchitecture()), signal);
    if (found?.isFile()) return this.#openArchive(image, place, signal);
    const kept = await findKeptImage(image, signal);
    if (kept === undefined) throw createNotFoundError(image);
    const root = await this.#roots.find(kept.digest);
    if (root !== undefined) return root;
    return this.#withScratch(async (scratch) => {
      const archive = join(scratch, 'image.tar');
      await kept.save(archive, signal);
      return this.#openArchive(image, archive, signal);
    });
  }

  async #buildDockerfile(
    { path, buildSeconds }: Extract<RootFileSystem, { readonly kind: 'dockerfile' }>,
    context: BuildContext | undefined,
    key: string,
    signal: AbortSignal,
  ): Promise<string> {
    if (context === undefined) throw new RangeError(`${path} without the files that it is built from`);
    const note = join(this.#built, digestBytes(key).replace(':', '-'));
    const known = await readFile(note, 'utf8').catch(() => '');
    if (known !== '' && (await this.#roots.isWhole(known))) return known;
    const root = await this.#withScratch(async (scratch) => {
      const files = join(scratch, 'context');
      for (const { path: name, isExecutable } of context.files) {
        const file = join(files, name);
        await mkdir(dirname(file), { recursive: true });
        await writeFile(file, await context.read(name));
        if (isExecutable) await chmod(file, 0o755);
      }
      const archive = join(scratch, 'image.tar');
      const dockerfile = join(files, path.slice(path.lastIndexOf('/') + 1));
      await buildImage(path, { dockerfile, context: files, file: archive, seconds: buildSeconds }, signal);
      return this.#openArchive(path, archive, signal);
    });
    await mkdir(this.#built, { recursive: true });
    await writeFile(note, root);
    return root;
  }

  /** @param archive file that `docker save` wrote. */
  async #openArchive(where: string, archive: string, signal: AbortSignal): Promise<string> {
    return this.#withScratch(async (scratch) => {
      const files = join(scratch, 'archive');
      await mkdir(files);
      await unpackLayer(`image ${where}`, createReadStream(archive), files, signal);
      return this.#roots.unpackImage(where, await readImage(where, files, getArchitecture()), signal);
    });
  }

  async #withScratch<Result>(use: (directory: string) => Promise<Result>): Promise<Result> {
    const scratch = await this.#roots.makeScratchDirectory();
    try {
      return await use(scratch);
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  }
}

/**
 * Checks that an image names no other workdir than the task. A task's files alone decide its workdir, and a differing image is probably a mistake. An
 * image that names none works in the root directory, which cannot be written to.
 *
 * @throws InputError `image.workdir`
 */
function assertSameWorkdir(root: Exclude<RootFileSystem, { readonly kind: 'host' }>, named: string): void {
  const { assumedWorkdir } = root;
  const ofImage = posix.resolve('/', named);
  if (assumedWorkdir === undefined || ofImage === '/' || ofImage === assumedWorkdir) return;
  const where = root.kind === 'image' ? `docker_image "${escapeUnprintableLine(root.image)}"` : root.path;
  const own = escapeUnprintableLine(ofImage);
  throw new InputError(
    'image.workdir',
    `${where}: the image works in ${own}, and task.toml names no workdir, so that the task works in ${assumedWorkdir}; set workdir = ${JSON.stringify(own)} in [environment] of task.toml`,
  );
}

function getArchitecture(): string {
  return ARCHITECTURES[process.arch] ?? process.arch;
}

function createNotFoundError(image: string): InputError {
  const forms =
    'the path of an OCI image layout or of a file that "docker save" wrote (from "/" or "./" on), or an image that docker or podman has on this machine';
  return new InputError(
    'image.missing',
    `docker_image "${escapeUnprintableLine(image)}": it does not exist; expected ${forms}; for an image of a registry, docker pull it first`,
  );
}
