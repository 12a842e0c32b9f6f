import { PassThrough } from 'node:stream';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import type { Executed, PodNode } from './simulated-node.ts';

const frameSchema = z.looseObject({ type: z.string(), ping: z.number().optional() });

/** A node without processes: what is executed answers as an idle runner does. For measuring what a pod costs its Muster. */
export class PaperNode implements PodNode {
  readonly #kills = new Map<string, () => void>();

  async start(): Promise<void> {}

  async run(name: string): Promise<Executed> {
    return this.#runner(name);
  }

  async runHelper(name: string): Promise<Executed> {
    return this.#runner(name);
  }

  async runCache(): Promise<Executed> {
    throw new Error('this node has no cache');
  }

  async memoryKills(): Promise<number> {
    return 0;
  }

  kill(name: string): void {
    this.#kills.get(name)?.();
  }

  async remove(name: string): Promise<void> {
    this.kill(name);
    this.#kills.delete(name);
  }

  #runner(name: string): Executed {
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
    const { promise: ended, resolve } = Promise.withResolvers<number | undefined>();
    const end = (code: number | undefined): void => {
      stdout.end();
      stderr.end();
      resolve(code);
    };
    this.#kills.set(name, () => end(undefined));
    stdin.once('end', () => end(0));
    createInterface({ input: stdin }).on('line', (line) => {
      const { type, ping } = frameSchema.parse(JSON.parse(line));
      if (type === 'ping') stdout.write(`${JSON.stringify({ type: 'pong', ping })}\n`);
    });
    stdout.write(`${JSON.stringify({ type: 'ready', protocol: 1, runner: 'paper/1' })}\n`);
    return { stdin, stdout, stderr, ended };
  }
}
