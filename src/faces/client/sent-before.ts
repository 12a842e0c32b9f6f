import { MusterError } from '../../kernel/errors.ts';
import type { CheckpointSource } from '../../policy-distribution/checkpoint-source.ts';
import { encodeDelta, type DeltaSide } from '../../policy-distribution/delta/delta-encoder.ts';
import { readLayout } from '../../policy-distribution/delta/delta-layout.ts';
import { FileStretches } from '../../policy-distribution/files/file-stretches.ts';
import type { LocalFile } from './local-checkpoint.ts';

/** Smaller files are sent whole: asking and encoding would take longer. */
const WORTH_TELLING_BYTES = 2 ** 20;
/**
 * A delta is in memory while it is sent; one that is not much smaller than its file costs the server more than it saves. In bytes, and as a share of
 * the file.
 */
const MOST_DELTA_BYTES = 256 * 2 ** 20;
const MOST_OF_FILE = 0.75;
/** So many files include those of the previous checkpoint of each of several runs that take turns. */
const REMEMBERED = 16;

/**
 * The files of this machine that were uploaded to the server, or are known to be there: what successive checkpoints of a run have in common need not
 * be sent again.
 */
export class SentBefore {
  readonly #source: CheckpointSource;
  #files: readonly LocalFile[] = [];

  constructor(source: CheckpointSource) {
    this.#source = source;
  }

  remember(files: readonly LocalFile[]): void {
    const large = files.filter(({ size }) => size >= WORTH_TELLING_BYTES);
    const others = this.#files.filter(({ digest }) => !large.some((file) => file.digest === digest));
    this.#files = [...large.toReversed(), ...others].slice(0, REMEMBERED);
  }

  /** Lists files that may be similar, the latest first. */
  listSimilar({ size, digest }: LocalFile): readonly LocalFile[] {
    return size < WORTH_TELLING_BYTES ? [] : this.#files.filter((file) => file.size === size && file.digest !== digest);
  }

  /** Returns undefined when it would not be smaller, or one of the two files has changed. @throws the signal's reason. */
  async encodeDifference(file: LocalFile, base: LocalFile, signal: AbortSignal): Promise<Uint8Array | undefined> {
    if (!(await this.#isUnchanged(base, signal))) return undefined;
    try {
      await using now = await FileStretches.open(file.address);
      await using before = await FileStretches.open(base.address);
      return now && before && (await encodeAsDelta(await createSide(file, now), await createSide(base, before), signal));
    } catch (error) {
      signal.throwIfAborted();
      // Sending it whole will show what is wrong with it.
      if (error instanceof MusterError) return undefined;
      throw error;
    }
  }

  async #isUnchanged({ address, revision }: LocalFile, signal: AbortSignal): Promise<boolean> {
    try {
      const { files } = await this.#source.list(address, { signal, maxFiles: 1 });
      return files[0]?.revision === revision;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof MusterError) return false;
      throw error;
    }
  }
}

async function encodeAsDelta(file: DeltaSide, base: DeltaSide, signal: AbortSignal): Promise<Uint8Array | undefined> {
  const parts: Uint8Array[] = [];
  const write = async (bytes: Uint8Array): Promise<void> => void parts.push(bytes);
  const maxBytes = Math.min(MOST_DELTA_BYTES, MOST_OF_FILE * file.bytes.size);
  return (await encodeDelta(file, base, { maxBytes, write, signal })) ? Buffer.concat(parts) : undefined;
}

async function createSide({ path, digest }: LocalFile, bytes: FileStretches): Promise<DeltaSide> {
  const readAt = async (position: number, length: number): Promise<Buffer> => {
    const stretch = Buffer.alloc(length);
    await bytes.readInto(stretch, position);
    return stretch;
  };
  return { digest, layout: await readLayout(path, bytes.size, readAt), bytes };
}
