import type { PlannedEpisode } from '../src/runner/playlist.ts';
import { encodeFrame, type LoadFrame } from '../src/runner/frames.ts';
import type { Sandbox } from '../src/pool/ports/sandbox.ts';

type ChunkListener = (chunk: Buffer) => void;

function isChunkListener(listener: unknown): listener is ChunkListener {
  return typeof listener === 'function';
}

/**
 * The least that a program can do to talk to a runner. While it exists, the session that the sandbox belongs to hears nothing of what the
 * runner says but the answers to its pings.
 */
export class BareRunner implements Disposable {
  episodes = 0;
  returns = 0;
  steps = 0;
  readonly #sandbox: Sandbox;
  readonly #session: readonly ChunkListener[];
  readonly #onChunk: ChunkListener;
  #unfinished = '';
  #sequence = 1_000_000;
  #loaded = Promise.withResolvers<void>();
  #due: { left: number; readonly done: () => void }[] = [];

  constructor(sandbox: Sandbox) {
    this.#sandbox = sandbox;
    this.#onChunk = (chunk) => this.#read(chunk);
    this.#session = sandbox.stdout.listeners('data').filter(isChunkListener);
    for (const listener of this.#session) sandbox.stdout.off('data', listener);
    sandbox.stdout.on('data', this.#onChunk);
  }

  load(request: Omit<LoadFrame, 'type' | 'load'>): Promise<void> {
    this.#loaded = Promise.withResolvers();
    this.#sandbox.stdin.write(encodeFrame({ type: 'load', load: (this.#sequence += 1), ...request }));
    return this.#loaded.promise;
  }

  /** Resolves when all of them have been played. */
  play(episodes: readonly PlannedEpisode[]): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#due.push({ left: episodes.length, done: resolve });
    const rows = episodes.map(
      ({ index, task, environmentSeed, policySeed }) =>
        [index, task, environmentSeed, policySeed] satisfies [number, number, number, number],
    );
    this.#sandbox.stdin.write(encodeFrame({ type: 'play', range: (this.#sequence += 1), episodes: rows }));
    return promise;
  }

  [Symbol.dispose](): void {
    this.#sandbox.stdout.off('data', this.#onChunk);
    for (const listener of this.#session) this.#sandbox.stdout.on('data', listener);
  }

  #read(chunk: Buffer): void {
    const lines = (this.#unfinished + chunk.toString('latin1')).split('\n');
    this.#unfinished = lines.pop() ?? '';
    for (const line of lines) this.#onLine(line);
  }

  #onLine(line: string): void {
    const frame: { type: string; return?: number; length?: number } = JSON.parse(line);
    if (frame.type === 'begin') return;
    if (frame.type === 'loaded') return this.#loaded.resolve();
    if (frame.type === 'refused') return this.#loaded.reject(new Error(line));
    if (frame.type === 'pong') return this.#session.forEach((hear) => hear(Buffer.from(`${line}\n`)));
    this.episodes += 1;
    this.returns += frame.return ?? 0;
    this.steps += frame.length ?? 0;
    const due = this.#due[0];
    if (!due) throw new Error(`nothing was due, got ${line}`);
    due.left -= 1;
    if (due.left > 0) return;
    this.#due.shift();
    due.done();
  }
}
