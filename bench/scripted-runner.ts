import type { Program } from '../test/support/in-memory-sandbox/program.ts';

/** What all scripted runners of a benchmark have done so far. */
export interface ScriptedRunners {
  readonly program: Program;
  readonly counts: { loads: number; ranges: number; outcomes: number };
  /** Called at each load; lets a benchmark tell setting up from playing. */
  onLoad: () => void;
}

interface PlayFrame {
  readonly type: 'play';
  readonly range: number;
  readonly episodes: readonly (readonly number[])[];
}
type MusterFrame =
  | { readonly type: 'ping'; readonly ping: number }
  | { readonly type: 'load'; readonly load: number; readonly policy: { readonly digest: string } }
  | PlayFrame;

/**
 * Runners that answer at once, the outcomes of a block in one write as real ones do, and without any work of their own: of what an evaluation
 * on them costs, nearly all is Muster's.
 *
 * @param secondsPerEpisode what they claim that an episode took; it decides how long ranges get.
 * @param blockSize episodes that are played together.
 */
export function scriptedRunners(secondsPerEpisode: number, blockSize = 1): ScriptedRunners {
  const counts = { loads: 0, ranges: 0, outcomes: 0 };
  const runners: ScriptedRunners = {
    counts,
    onLoad: () => undefined,
    program: ({ stdin, stdout, signal }) => {
      const { promise, resolve } = Promise.withResolvers<number>();
      const onFrame = (frame: MusterFrame): void => {
        switch (frame.type) {
          case 'ping':
            return void stdout.write(`{"type":"pong","ping":${frame.ping}}\n`);
          case 'load':
            counts.loads += 1;
            runners.onLoad();
            return void stdout.write(`{"type":"loaded","load":${frame.load},"digest":"${frame.policy.digest}"}\n`);
          case 'play':
            stdout.write(`{"type":"begin","range":${frame.range}}\n`);
            counts.ranges += 1;
            counts.outcomes += frame.episodes.length;
            for (let start = 0; start < frame.episodes.length; start += blockSize) {
              const block = frame.episodes.slice(start, start + blockSize);
              stdout.write(block.map(([index]) => outcomeLine(frame.range, index ?? 0, secondsPerEpisode)).join(''));
            }
        }
      };
      let unfinished = '';
      stdin.on('data', (chunk: Buffer) => {
        const lines = (unfinished + chunk.toString('latin1')).split('\n');
        unfinished = lines.pop() ?? '';
        // As in a process of its own, an answer never comes while the question is still being sent.
        for (const line of lines) setImmediate(() => onFrame(JSON.parse(line)));
      });
      stdin.once('end', () => resolve(0));
      signal.addEventListener('abort', () => resolve(0), { once: true });
      stdout.write('{"type":"ready","protocol":2,"runner":"scripted/1"}\n');
      return promise;
    },
  };
  return runners;
}

function outcomeLine(range: number, index: number, seconds: number): string {
  const value = (index % 997) / 997;
  return `{"type":"completed","range":${range},"index":${index},"return":${value},"length":200,"metrics":{},"seconds":${seconds}}\n`;
}
