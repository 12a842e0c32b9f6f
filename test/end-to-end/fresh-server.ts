import { readFile } from 'node:fs/promises';
import { expect } from 'vitest';
import { ServerMemory } from '../fuzz/hostile-requests.ts';
import { MusterServer } from './muster-server.ts';
import { SOURCES, Stage } from './stage.ts';

/** Garbage is collected before it is full, and a server that holds more than it may ends. */
const HEAP = { NODE_OPTIONS: '--max-old-space-size=192' };

/** A server that has answered nothing yet: what was held and let go before would hide what is held now. */
export class FreshServer implements AsyncDisposable {
  readonly url: string;
  /** Of a submitter; empty where the server asks for none. */
  readonly token: string;
  readonly memory: ServerMemory;
  readonly #stage: Stage;
  readonly #server: MusterServer;

  private constructor(stage: Stage, server: MusterServer, token: string) {
    this.#stage = stage;
    this.token = token;
    this.#server = server;
    this.url = server.url;
    this.memory = new ServerMemory(server.command.pid);
  }

  static async start(access: 'off' | 'tokens' = 'off'): Promise<FreshServer> {
    const stage = await Stage.open();
    const config = await stage.write('server.json', { sources: SOURCES, server: { port: 0, access } });
    const token = access === 'off' ? '' : await stage.token('caller', 'submitter');
    return new FreshServer(stage, await MusterServer.start(stage, config, { deadlineMs: 300_000, environment: HEAP }), token);
  }

  async expectAlive(): Promise<void> {
    expect((await fetch(`${this.url}/healthz`)).status).toBe(200);
  }

  /** Processor time so far, in ticks of the kernel: of the thread with the event loop, and of all threads. */
  async processorTime(): Promise<{ readonly eventLoop: number; readonly all: number }> {
    const { pid } = this.#server.command;
    const [eventLoop, all] = await Promise.all([`/proc/${pid}/task/${pid}/stat`, `/proc/${pid}/stat`].map(ticksIn));
    return { eventLoop: eventLoop ?? 0, all: all ?? 0 };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.command.signal('SIGTERM');
    const ended = await this.#server.command.ended;
    await this.#stage[Symbol.asyncDispose]();
    expect(ended).toMatchObject({ exitCode: 0 });
    expect(ended.stderr).not.toContain('defect');
  }
}

async function ticksIn(file: string): Promise<number> {
  const stat = await readFile(file, 'utf8');
  // The name of the program, in brackets, may hold spaces. User and system time are the 14th and 15th field.
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13);
  return Number(user) + Number(system);
}
