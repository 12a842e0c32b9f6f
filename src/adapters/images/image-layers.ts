import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { z } from 'zod';
import { digestBytes } from '../../kernel/canonical-json.ts';
import { InputError } from '../../kernel/errors.ts';
import { type Digest, parseDigest } from '../../kernel/ids.ts';
import { isPlainPath } from '../../agents/tasks/relative-path.ts';
import { JsonProblem, parseJson } from '../../kernel/json-bounds.ts';
import { formatExactBytes } from '../../kernel/text/figures.ts';

/** An image as files of this machine: its layers, the lowest first. */
export interface ImageLayers {
  /** Digest of its configuration, which names the content of all layers. */
  readonly digest: Digest;
  readonly settings: ImageSettings;
  readonly layers: readonly ImageLayer[];
}

/** An image's configuration for its programs. */
export interface ImageSettings {
  readonly environment: Readonly<Record<string, string>>;
  /** Working directory, as it is written; empty where the image has none. */
  readonly workdir: string;
}

export interface ImageLayer {
  /** Digest of the uncompressed archive: the layer's name in every image that has it. */
  readonly digest: Digest;
  /** Opens the archive as it is stored: uncompressed, or by gzip or zstd. */
  open(): Readable;
}

const JSON_BOUNDS = { bytes: 8 * 2 ** 20, depth: 32, values: 200_000 };
const MOST_LAYERS = 512;
/** An index may point to an index, and that to a manifest. */
const MOST_INDICES = 4;
const digestSchema = z.string().regex(/^sha256:[0-9a-f]{64}$/, 'expected sha256: and 64 hexadecimal digits');
const descriptorSchema = z.object({
  mediaType: z.string(),
  digest: digestSchema,
  platform: z.object({ os: z.string(), architecture: z.string() }).optional(),
});
const indexSchema = z.object({ manifests: z.array(descriptorSchema).min(1).max(1000) });
const manifestSchema = z.object({ config: descriptorSchema, layers: z.array(descriptorSchema).max(MOST_LAYERS) });
const variableSchema = z
  .string()
  .max(128 * 1024)
  .regex(/^[^=\0]+=[^\0]*$/, 'expected NAME=VALUE');
const configSchema = z.object({
  config: z.object({ Env: z.array(variableSchema).max(1000).nullish(), WorkingDir: z.string().max(4096).nullish() }).nullish(),
  rootfs: z.object({ diff_ids: z.array(digestSchema).max(MOST_LAYERS) }),
});
const archiveSchema = z
  .array(z.object({ Config: z.string(), Layers: z.array(z.string()).max(MOST_LAYERS) }))
  .length(1, 'expected one image');

/**
 * Reads a directory that is an OCI image layout, or the content of an archive of `docker save`. Checks everything that a digest names against it.
 *
 * @param where names the image for messages. @throws InputError `image.invalid`, naming the file.
 */
export async function readImage(where: string, directory: string, architecture: string): Promise<ImageLayers> {
  const place: ImageDirectory = { where, directory };
  if (await isFile(join(directory, 'index.json'))) return readOciImage(place, architecture);
  if (await isFile(join(directory, 'manifest.json'))) return readArchivedImage(place);
  throw createInvalidError(place, 'it has neither index.json nor manifest.json', 'an OCI image layout, or what "docker save" writes');
}

interface ImageDirectory {
  readonly where: string;
  readonly directory: string;
}

async function readOciImage(place: ImageDirectory, architecture: string): Promise<ImageLayers> {
  let text: Buffer = await readFile(join(place.directory, 'index.json'));
  let name = 'index.json';
  for (let step = 0; step < MOST_INDICES; step += 1) {
    const manifest = manifestSchema.safeParse(parseLayerJson(place, name, text));
    if (manifest.success)
      return readLayers(
        place,
        manifest.data.config.digest,
        manifest.data.layers.map(({ digest }) => getBlobPath(digest)),
      );
    const { manifests } = checkDocument(place, name, indexSchema, text);
    const ours = manifests.filter(
      ({ platform }) => platform === undefined || (platform.os === 'linux' && platform.architecture === architecture),
    );
    const [only, ...others] = ours;
    if (only === undefined || others.length > 0)
      throw createInvalidError(place, `${name} has ${ours.length} images for linux/${architecture}`, 'one');
    name = getBlobPath(only.digest);
    text = await readBlob(place, only.digest);
  }
  throw createInvalidError(place, `its indices refer to more than ${MOST_INDICES} others`, 'a manifest');
}

async function readArchivedImage(place: ImageDirectory): Promise<ImageLayers> {
  const name = 'manifest.json';
  const [image] = checkDocument(place, name, archiveSchema, await readFile(join(place.directory, name)));
  if (image === undefined) throw createInvalidError(place, `${name} has no image`, 'one');
  for (const path of [image.Config, ...image.Layers])
    if (!isPlainPath(path)) throw createInvalidError(place, `${name} names the file ${JSON.stringify(path)}`, 'a path in the archive');
  const config = await readFile(join(place.directory, image.Config)).catch(() => undefined);
  if (config === undefined) throw createInvalidError(place, `${image.Config} is missing`, 'the configuration of the image');
  return readLayers(place, digestBytes(config), image.Layers, config);
}

async function readLayers(place: ImageDirectory, digest: string, files: readonly string[], given?: Buffer): Promise<ImageLayers> {
  const config = given ?? (await readBlob(place, digest));
  const { config: settings, rootfs } = checkDocument(place, 'its configuration', configSchema, config);
  if (rootfs.diff_ids.length !== files.length)
    throw createInvalidError(
      place,
      `its configuration names ${rootfs.diff_ids.length} layers and its manifest ${files.length}`,
      'the same number',
    );
  const layers = files.map(async (file, at): Promise<ImageLayer> => {
    const path = join(place.directory, file);
    if (!(await isFile(path))) throw createInvalidError(place, `layer ${file} is missing`, 'every layer of the image');
    return { digest: parseDigest(rootfs.diff_ids[at] ?? ''), open: () => createReadStream(path) };
  });
  const environment = Object.fromEntries(
    (settings?.Env ?? []).map((variable) => {
      const at = variable.indexOf('=');
      return [variable.slice(0, at), variable.slice(at + 1)];
    }),
  );
  return { digest: parseDigest(digest), settings: { environment, workdir: settings?.WorkingDir ?? '' }, layers: await Promise.all(layers) };
}

/** @throws InputError when its content does not match its name. */
async function readBlob(place: ImageDirectory, digest: string): Promise<Buffer> {
  const file = join(place.directory, getBlobPath(digest));
  const found = await stat(file).catch(() => undefined);
  if (!found?.isFile()) throw createInvalidError(place, `${getBlobPath(digest)} is missing`, 'every blob that the image names');
  if (found.size > JSON_BOUNDS.bytes)
    throw createInvalidError(
      place,
      `${getBlobPath(digest)} has ${formatExactBytes(found.size)}`,
      `at most ${formatExactBytes(JSON_BOUNDS.bytes)}`,
    );
  const content = await readFile(file);
  if (digestBytes(content) !== digest)
    throw createInvalidError(place, `${getBlobPath(digest)} does not have the content of its digest`, 'the blob of that digest');
  return content;
}

function getBlobPath(digest: string): string {
  return `blobs/${digest.replace(':', '/')}`;
}

function checkDocument<Value>(place: ImageDirectory, name: string, schema: z.ZodType<Value>, bytes: Buffer): Value {
  const found = schema.safeParse(parseLayerJson(place, name, bytes));
  if (found.success) return found.data;
  throw createInvalidError(place, `${name}: ${z.prettifyError(found.error).slice(0, 500)}`, 'a file as the OCI image specification has it');
}

function parseLayerJson(place: ImageDirectory, name: string, bytes: Buffer): unknown {
  try {
    return parseJson(bytes, JSON_BOUNDS);
  } catch (error) {
    if (error instanceof JsonProblem) throw createInvalidError(place, `${name}: ${error.message}`, 'JSON');
    throw error;
  }
}

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() ?? false;
}

function createInvalidError({ where }: ImageDirectory, problem: string, expected: string): InputError {
  return new InputError('image.invalid', `image ${where}: ${problem}; expected ${expected}`);
}
