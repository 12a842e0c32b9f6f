import { Pipe } from '../test/support/in-memory-sandbox/pipe.ts';
import { scriptedRunners } from './scripted-runner.ts';

export interface Scripted {
  readonly count: number;
  /** In all, at least. */
  readonly episodes: number;
  readonly episodesPerRange: number;
  readonly secondsPerEpisode: number;
  readonly blockSize: number;
}

/** @returns µs of the main thread for an episode that scripted runners play for someone who has the frames ready and only counts bytes. */
export async function scriptedCost({ count, episodes, episodesPerRange, secondsPerEpisode, blockSize }: Scripted): Promise<number> {
  const runners = scriptedRunners(secondsPerEpisode, blockSize);
  const ended = new AbortController();
  let bytes = 0;
  const inputs = Array.from({ length: count }, () => {
    const [input, output, errors] = [new Pipe(), new Pipe(), new Pipe()];
    const io = { argv: [], environment: {}, stdin: input.reader, stdout: output.writer, stderr: errors.writer, signal: ended.signal };
    void runners.program({ ...io, readFile: () => Promise.reject(new Error('there are no files')) });
    output.reader.on('data', (chunk: Buffer) => (bytes += chunk.length));
    return input.writer;
  });
  const frames = Array.from({ length: Math.ceil(episodes / episodesPerRange) }, (_, range) => playFrame(range, episodesPerRange));
  const start = process.threadCpuUsage();
  for (const [range, frame] of frames.entries()) {
    inputs[range % count]?.write(frame);
    if (range % count === count - 1) await turn();
  }
  while (runners.counts.ranges < frames.length) await turn();
  const end = process.threadCpuUsage();
  ended.abort();
  if (bytes === 0) throw new Error('the scripted runners said nothing');
  return (end.user + end.system - start.user - start.system) / runners.counts.outcomes;
}

function playFrame(range: number, episodes: number): string {
  const rows = Array.from({ length: episodes }, (_, i) => [range * episodes + i, 0, 1_000_000_000 + i, 2_000_000_000 + i]);
  return `${JSON.stringify({ type: 'play', range, episodes: rows })}\n`;
}

/** Lets everything else have its turn. */
function turn(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  setImmediate(resolve);
  return promise;
}
