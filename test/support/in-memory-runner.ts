import { createInterface } from 'node:readline';
import type { Program, ProgramIo } from '../../src/adapters/sandbox/in-memory/program.ts';

/** What a scripted runner answers for an episode; a promise lets a test decide when. */
export type PlayEpisode = (episode: ScriptedEpisode) => ScriptedAnswer | Promise<ScriptedAnswer>;

export interface ScriptedEpisode {
  readonly index: number;
  readonly task: number;
  readonly environmentSeed: number;
  readonly policySeed: number;
  /** Digest of the checkpoint that was loaded last. */
  readonly checkpoint: string;
  readonly io: ProgramIo;
}

export type ScriptedAnswer =
  | { readonly return: number; readonly length?: number; readonly metrics?: Record<string, number>; readonly log?: string }
  | { readonly failed: string; readonly detail: string }
  /** Sent as it is, in place of an outcome. */
  | { readonly raw: string }
  /** The program ends with this code. */
  | { readonly exit: number };

/** A runner in a few lines, for the in-memory provider: speaks the protocol and leaves the episodes to the test. */
export function scriptedRunner(play: PlayEpisode): Program {
  return async (io) => {
    const send = (frame: object): void => void io.stdout.write(`${JSON.stringify(frame)}\n`);
    let checkpoint = '';
    send({ type: 'ready', protocol: 1, runner: 'scripted/1' });
    for await (const line of createInterface({ input: io.stdin, crlfDelay: Infinity })) {
      const frame = JSON.parse(line);
      if (frame.type === 'ping') send({ type: 'pong', ping: frame.ping });
      if (frame.type === 'load') checkpoint = frame.policy.digest;
      if (frame.type === 'load') send({ type: 'loaded', load: frame.load, digest: frame.policy.digest });
      if (frame.type !== 'play') continue;
      send({ type: 'begin', range: frame.range });
      for (const [index, task, environmentSeed, policySeed] of frame.episodes) {
        const answer = await play({ index, task, environmentSeed, policySeed, checkpoint, io });
        if ('exit' in answer) return answer.exit;
        if ('raw' in answer) io.stdout.write(answer.raw);
        else send({ ...frameOf(answer), range: frame.range, index, seconds: 0.001 });
      }
    }
    return 0;
  };
}

function frameOf(answer: Exclude<ScriptedAnswer, { exit: number } | { raw: string }>): object {
  if ('failed' in answer) return { type: 'failed', cause: answer.failed, detail: answer.detail };
  return { type: 'completed', length: 1, metrics: {}, ...answer };
}
