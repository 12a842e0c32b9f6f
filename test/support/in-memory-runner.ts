import { createInterface } from 'node:readline';
import type { Program, ProgramIo } from './in-memory-sandbox/program.ts';

/** What a scripted runner answers for an episode; a promise lets a test decide when. */
export type PlayEpisode = (episode: ScriptedEpisode) => ScriptedAnswer | Promise<ScriptedAnswer>;

export interface ScriptedEpisode {
  readonly index: number;
  readonly task: number;
  readonly environmentSeed: number;
  readonly policySeed: number;
  /** Digest of the checkpoint that was loaded last. */
  readonly checkpoint: string;
  /** Indices of the episodes that it is played together with, its own among them. */
  readonly block: readonly number[];
  readonly io: ProgramIo;
}

export type ScriptedAnswer =
  | {
      readonly return: number;
      readonly length?: number;
      readonly metrics?: Record<string, number>;
      readonly log?: string;
      /** Of the millisecond that an episode takes. */
      readonly forward?: number;
    }
  | { readonly failed: string; readonly detail: string }
  /** Sent as it is, in place of an outcome. */
  | { readonly raw: string }
  /** The program ends with this code. */
  | { readonly exit: number };

export interface ScriptedRunnerOptions {
  /** From 2 on it takes blocks; it then ends with code 70 when it is not sent whole ones. */
  readonly protocol?: number;
  /** What it has to say of everything that it loads. */
  readonly warnings?: readonly string[];
  /** Why it refuses to play in this form, or this checkpoint, if it does. */
  readonly refusal?: (form: string, checkpoint: string) => string | undefined;
  /** Hears every load. */
  readonly onLoad?: (frame: { readonly policy: unknown }) => void;
  /** Hears how many episodes each range has. */
  readonly onPlay?: (episodes: number) => void;
  /** The checkpoint that it says it is about to play, when it says; the one that was loaded otherwise. */
  readonly claims?: (checkpoint: string) => string;
}

/** A runner in a few lines, for the in-memory provider: speaks the protocol and leaves the episodes to the test. */
export function scriptedRunner(
  play: PlayEpisode,
  { protocol = 2, warnings, refusal, claims, onLoad, onPlay }: ScriptedRunnerOptions = {},
): Program {
  return async (io) => {
    const send = (frame: object): void => void io.stdout.write(`${JSON.stringify(frame)}\n`);
    let checkpoint = '';
    let blockSize = 1;
    send({ type: 'ready', protocol, runner: 'scripted/1' });
    for await (const line of createInterface({ input: io.stdin, crlfDelay: Infinity })) {
      const frame = JSON.parse(line);
      if (frame.type === 'ping') send({ type: 'pong', ping: frame.ping });
      if (frame.type === 'load') onLoad?.(frame);
      if (frame.type === 'load') checkpoint = frame.policy.digest;
      if (frame.type === 'load') blockSize = frame.batching?.episodes ?? 1;
      const refused = frame.type === 'load' ? refusal?.(frame.batching?.form ?? 'single', checkpoint) : undefined;
      if (refused) send({ type: 'refused', load: frame.load, part: 'environment', message: refused });
      else if (frame.type === 'load') send({ type: 'loaded', load: frame.load, digest: frame.policy.digest, warnings });
      if (frame.type !== 'play') continue;
      onPlay?.(frame.episodes.length);
      const indices: number[] = frame.episodes.map(([index]: [number]) => index);
      if (!indices.every((index, position) => isInWholeBlock(indices, position, index, blockSize))) return 70;
      send({ type: 'begin', range: frame.range, ...(claims && { digest: claims(checkpoint) }) });
      for (const [position, [index, task, environmentSeed, policySeed]] of frame.episodes.entries()) {
        const start = position - (position % blockSize);
        const block = indices.slice(start, start + blockSize);
        const answer = await play({ index, task, environmentSeed, policySeed, checkpoint, block, io });
        if ('exit' in answer) return answer.exit;
        if ('raw' in answer) io.stdout.write(answer.raw);
        else send({ ...frameOf(answer), range: frame.range, index, seconds: 0.001 });
      }
    }
    return 0;
  };
}

function isInWholeBlock(indices: readonly number[], position: number, index: number, blockSize: number): boolean {
  return indices.length % blockSize === 0 && index % blockSize === position % blockSize && indices[position - 1] !== index;
}

function frameOf(answer: Exclude<ScriptedAnswer, { exit: number } | { raw: string }>): object {
  if ('failed' in answer) return { type: 'failed', cause: answer.failed, detail: answer.detail };
  return { type: 'completed', length: 1, metrics: {}, ...answer };
}
