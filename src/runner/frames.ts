import { z } from 'zod';
import { InputError } from '../kernel/errors.ts';
import { FAILURE_CAUSES } from '../kernel/outcome.ts';
import { formatExactBytes } from '../kernel/text/figures.ts';
import { tryParseJson } from '../kernel/json-bounds.ts';

/**
 * The frames of the runner protocol, versions 1 and 2 (docs/runner-protocol.md): each a JSON object on a line of its own, in both directions. A runner's output is
 * untrusted: nothing of it is used before `parseRunnerFrame` has accepted it.
 */
export const PROTOCOL_VERSIONS: readonly number[] = [1, 2];

/** Runners play in blocks since this version, when the load says so. An older one would silently play the episodes one by one. */
export const BATCHING_SINCE = 2;

/** Longest line that a runner may send, in bytes without the line feed. */
export const MAX_RUNNER_FRAME_BYTES = 64 * 1024;

/** Longest line that a runner must accept. */
export const MAX_MUSTER_FRAME_BYTES = 1024 * 1024;

/** The largest number of episodes that travel in one range: keeps a `play` line far below the megabyte that a runner must accept. */
export const MAX_RANGE_EPISODES = 4096;

/** The largest number of rows that are played together. */
export const MAX_WIDTH = 4096;

/** Says how a runner has to play: episodes come in groups of `episodes`, and the outcome of one depends on its group alone. */
export interface Batching {
  readonly form: 'lockstep' | 'vector';
  /** Rows. */
  readonly width: number;
  /** Episodes of a block. With `vector` as many as there are rows. */
  readonly episodes: number;
  /** Time limit of one episode, as the runner applies it to a row. */
  readonly episodeSeconds: number;
}

/** The first bytes of every PNG, in base64. */
const PNG_SIGNATURE = 'iVBORw0KGg';

const id = z.int().min(0);
const shortText = z.string().max(16 * 1024);

const readySchema = z.object({ type: z.literal('ready'), protocol: z.int(), runner: z.string().max(200) });
const loadedSchema = z.object({
  type: z.literal('loaded'),
  load: id,
  digest: z.string().max(200),
  warnings: z.array(z.string().max(1000)).max(16).default([]),
});
const refusedSchema = z.object({ type: z.literal('refused'), load: id, part: z.enum(['policy', 'environment']), message: shortText });
const beginSchema = z.object({ type: z.literal('begin'), range: id, digest: z.string().max(200).optional() });
const pongSchema = z.object({ type: z.literal('pong'), ping: id });

const seconds = z.number().min(0).max(1e9);
const episodeFields = { range: id, index: id, seconds, forward: seconds.optional(), log: shortText.optional() };
const completedSchema = z.object({
  type: z.literal('completed'),
  ...episodeFields,
  // An infinite return or NaN is an outcome of its own, not an invalid frame.
  return: z.custom<number>((value) => typeof value === 'number', 'expected a number'),
  length: z.int().min(0),
  metrics: z.record(z.string().max(64), z.number()).default({}),
  warnings: z.array(z.string().max(1000)).max(16).optional(),
});
const failedSchema = z.object({ type: z.literal('failed'), ...episodeFields, cause: z.enum(FAILURE_CAUSES), detail: shortText });

/** Part of the recording of the one requested episode: some rewards, a picture, or why there is none. */
const recordedSchema = z.object({
  type: z.literal('recorded'),
  /** The step of the first reward, or the step after which the picture was taken. 0 is the reset. */
  step: id,
  /** Null where a reward was infinite or NaN. */
  rewards: z.array(z.number().nullable()).max(4000).optional(),
  /** PNG. */
  picture: z
    .base64()
    .max(MAX_RUNNER_FRAME_BYTES)
    .refine((text) => text.startsWith(PNG_SIGNATURE), 'expected a PNG')
    .optional(),
  remark: z.string().max(1000).optional(),
});

const runnerFrameSchema = z.discriminatedUnion('type', [
  readySchema,
  loadedSchema,
  refusedSchema,
  beginSchema,
  completedSchema,
  failedSchema,
  recordedSchema,
  pongSchema,
]);

export type RunnerFrame = z.infer<typeof runnerFrameSchema>;
export type EpisodeFrame = Extract<RunnerFrame, { type: 'completed' | 'failed' }>;

export type RecordedFrame = Extract<RunnerFrame, { type: 'recorded' }>;
export type ReadyFrame = Extract<RunnerFrame, { type: 'ready' }>;

export interface MalformedFrame {
  readonly type: 'malformed';
  readonly problem: string;
}

/** @returns the frame, or what is wrong with the line. */
export function parseRunnerFrame(line: string): RunnerFrame | MalformedFrame {
  const json = tryParseJson(line);
  if (json === undefined) return { type: 'malformed', problem: `not a JSON object: ${shortenLine(line)}` };
  const parsed = runnerFrameSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  return {
    type: 'malformed',
    problem: `${shorten(issue?.path.join('.') || 'frame')}: ${issue?.message ?? 'invalid'}: ${shortenLine(line)}`,
  };
}

function shortenLine(line: string): string {
  return JSON.stringify(shorten(line));
}

function shorten(text: string): string {
  return text.length > 120 ? `${text.slice(0, 120)}…` : text;
}

export interface TaskEnvironment {
  readonly name: string;
  readonly environment: {
    readonly entry: string;
    readonly kwargs: Readonly<Record<string, unknown>>;
    readonly wrappers: readonly { readonly entry: string; readonly kwargs: Readonly<Record<string, unknown>> }[];
  };
}

export interface LoadFrame {
  readonly type: 'load';
  readonly load: number;
  /** `path` is absolute, inside the sandbox. A `verified` policy is known to have the digest and need not be read to check it. */
  readonly policy: { readonly path: string; readonly digest: string; readonly verified?: true };
  /** Directory with the suite's own modules, inside the sandbox. */
  readonly code: string | null;
  readonly tasks: readonly TaskEnvironment[];
  readonly actions: 'deterministic' | 'stochastic';
  readonly metrics: readonly string[];
  /** When it is left out, one episode is played after the other. */
  readonly batching?: Batching;
  /** Environment seed of an episode whose rewards and pictures are recorded, too. */
  readonly recordedSeed?: number;
}

export interface PlayFrame {
  readonly type: 'play';
  readonly range: number;
  /** index, task, environment seed, policy seed */
  readonly episodes: readonly (readonly [number, number, number, number])[];
}

export interface PingFrame {
  readonly type: 'ping';
  readonly ping: number;
}

export type MusterFrame = LoadFrame | PlayFrame | PingFrame;

/** @throws InputError when a suite is larger than runners have to accept. */
export function encodeFrame(frame: MusterFrame): string {
  const line = `${JSON.stringify(frame)}\n`;
  if (frame.type !== 'load' || Buffer.byteLength(line) <= MAX_MUSTER_FRAME_BYTES) return line;
  const found = `the suite's tasks take ${formatExactBytes(Buffer.byteLength(line))} to send to a runner`;
  throw new InputError('suite.too-large', `${found}, which takes at most ${formatExactBytes(MAX_MUSTER_FRAME_BYTES)}; split the suite`);
}
