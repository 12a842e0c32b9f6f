import { z } from 'zod';
import { InfrastructureError } from '../../../kernel/errors.ts';
import type { FetchOrder, LinkedFile } from '../../../kernel/fetching.ts';
import { tryParseJson } from '../../../kernel/json-bounds.ts';
import { RUNNER_INSIDE } from '../local/template/python-template.ts';

/** How long fetching one checkpoint into a sandbox may take, in seconds: 50 GiB at 15 MB/s. */
const PULL_SECONDS = 3600;
/** An answer is a line. */
export const MOST_ANSWER_CHARACTERS = 65_536;

/** A file that is there already: a checkpoint may come as what differs from it. */
export interface HeldFile {
  readonly digest: string;
  /** Absolute, inside. */
  readonly path: string;
}

const answerSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('done'), received: z.int().min(0), deltas: z.int().min(0), fromBuckets: z.int().min(0).default(0) }),
  z.object({ kind: z.literal('failed'), code: z.string().max(64), message: z.string() }),
]);
/** The cost of an order: bytes over the network, how many files came as deltas, and how many from buckets. */
export type Pulled = Omit<Extract<z.infer<typeof answerSchema>, { kind: 'done' }>, 'kind'>;

/** Creates the command of the program that fetches, which is beside the runner. It reads one order on its input and gives one answer. */
export function createPullCommand(python: string): readonly string[] {
  return [python, '-I', `${RUNNER_INSIDE}/pull.py`];
}

/** @param into absolute path of a directory inside that is not there yet. */
export function pullOrder(into: string, files: readonly LinkedFile[], bases: readonly HeldFile[]): string {
  return JSON.stringify({ kind: 'pull', into, files: encodeLinkedFiles(files), seconds: PULL_SECONDS, bases: bases.map(encodeHeldFile) });
}

/** A node's cache keeps the checkpoint for this holder until the hold ends. */
export interface HoldOrder extends FetchOrder {
  /** Lower-case letters, digits and `-`. */
  readonly holder: string;
  /** Seconds since 1970. */
  readonly until: number;
  /** Digests of checkpoints that the holder uses no longer. */
  readonly releases: readonly string[];
}

export function holdOrder({ digest, files, holder, until, releases }: HoldOrder): string {
  const order = { checkpoint: getHex(digest), files: encodeLinkedFiles(files), holder, until, releases: releases.map(getHex) };
  return JSON.stringify({ kind: 'hold', ...order, seconds: PULL_SECONDS });
}

function encodeLinkedFiles(files: readonly LinkedFile[]): object[] {
  return files.map(({ path, size, digest, url, bucketUrl }) => ({
    path,
    size,
    sha256: getHex(digest),
    url,
    ...(bucketUrl === undefined ? {} : { bucketUrl }),
  }));
}

function encodeHeldFile({ digest, path }: HeldFile): object {
  return { sha256: getHex(digest), path };
}

function getHex(digest: string): string {
  return digest.slice('sha256:'.length);
}

/**
 * @param stdout of the program. @param stderr for people, when it cannot even read its order. @throws InfrastructureError `sandbox.fetch` with the
 * file and the cause.
 */
export function readPullAnswer(stdout: string, stderr: string): Pulled {
  const parsed = answerSchema.safeParse(tryParseJson(stdout.slice(0, MOST_ANSWER_CHARACTERS)));
  if (!parsed.success) throw fetchError(`the program that fetches files gave no result: ${(stderr || stdout).trim().slice(0, 500)}`);
  const { data } = parsed;
  switch (data.kind) {
    case 'done':
      return { received: data.received, deltas: data.deltas, fromBuckets: data.fromBuckets };
    case 'failed':
      throw fetchError(`${data.message.slice(0, 1000)} (${data.code})`);
  }
}

/** @param problem for people: the file and the cause. */
export function fetchError(problem: string, cause?: unknown): InfrastructureError {
  return new InfrastructureError('sandbox.fetch', `a checkpoint could not be fetched to the sandbox: ${problem}`, { cause });
}
