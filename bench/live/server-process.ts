import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { dependentFork } from '../../scripts/dependent-process.ts';
import { sleep, systemClock } from '../../src/kernel/clock.ts';
import type { Delay } from './delay-meter.ts';

/** Pages that look at the server at a time. */
export const PAGES = 10;

export interface MeasuredDelay extends Delay {
  readonly load: number;
}

/** A server in a process of its own. */
export class ServerProcess implements AsyncDisposable {
  readonly url: string;
  readonly #process: ChildProcess;

  private constructor(url: string, process: ChildProcess) {
    this.url = url;
    this.#process = process;
  }

  /** With simulated players. @param page directory of the page's files; those of this checkout when left out. */
  static simulate(sizes: readonly number[], page?: string): Promise<ServerProcess> {
    return ServerProcess.#start('simulated-server.ts', [...sizes.map(String), ...(page === undefined ? [] : [page])]);
  }

  /** Gives pages what another server gives in so many seconds, again and again. */
  static replay({ url }: ServerProcess, seconds: number): Promise<ServerProcess> {
    return ServerProcess.#start('replaying-server.ts', [url, String(seconds)]);
  }

  static async #start(file: string, words: readonly string[]): Promise<ServerProcess> {
    const child = fork(join(import.meta.dirname, file), words, dependentFork());
    const [message] = await Promise.race([
      once(child, 'message'),
      once(child, 'exit').then(() => Promise.reject(new Error(`${file} has ended`))),
    ]);
    const { url }: { readonly url: string } = message;
    return new ServerProcess(url, child);
  }

  get pid(): number {
    if (this.#process.pid === undefined) throw new Error('the server has no process');
    return this.#process.pid;
  }

  /** A browser has few connections to each host: pages spread over the addresses of this machine. */
  urlAt(page: number): string {
    return this.url.replace('127.0.0.1', `127.0.0.${1 + (page % PAGES)}`);
  }

  /** What it did while so many seconds passed. */
  async delayOver(seconds: number, meanwhile: () => Promise<void> = async () => undefined): Promise<MeasuredDelay> {
    await this.#ask();
    await Promise.all([sleep(systemClock, 1000 * seconds), meanwhile()]);
    return { ...(await this.#ask()), load: loadavg()[0] ?? 0 };
  }

  async #ask(): Promise<Delay> {
    this.#process.send('delay');
    const [delay]: readonly Delay[] = await once(this.#process, 'message');
    if (!delay) throw new Error('the server told no delay');
    return delay;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exit = once(this.#process, 'exit');
    this.#process.disconnect();
    await exit;
  }
}

/** The one that has episodes: the first of its run. */
export async function findDeepEvaluation(server: ServerProcess): Promise<string> {
  const answer = await fetch(`${server.url}/v1/evaluations?run=deep&limit=200`);
  const { items }: { readonly items: readonly { readonly id: string }[] } = JSON.parse(await answer.text());
  const found = items.find(({ id }) => !id.startsWith('ev-copy-'));
  if (!found) throw new Error('the evaluation with episodes is not among the latest');
  return found.id;
}
