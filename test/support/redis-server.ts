import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createClient } from '@redis/client';
import { dependent } from '../../scripts/dependent-process.ts';
import { eventually } from './eventually.ts';
import { freePort } from './free-port.ts';

const ROOT = path.join(import.meta.dirname, '../..');

/** Where the set-up puts each server: Debian's own packages, and Valkey from its backports where the release has none. */
const PROGRAMS = {
  redis: ['/usr/bin/redis-server'],
  valkey: ['/usr/bin/valkey-server', path.join(ROOT, '.tools/valkey/usr/bin/valkey-server')],
} as const;

export type RedisKind = keyof typeof PROGRAMS;
export const REDIS_KINDS: readonly RedisKind[] = ['redis', 'valkey'];

/** Why such a server cannot be started here; undefined where it can. */
export function explainMissingRedis(kind: RedisKind): string | undefined {
  return findProgram(kind) === undefined ? `${kind}-server is missing: "node scripts/setup.mjs --test" installs it` : undefined;
}

function findProgram(kind: RedisKind): string | undefined {
  return PROGRAMS[kind].find((file) => existsSync(file));
}

/** A real server of the tests' own, which keeps nothing. */
export class RedisServer implements AsyncDisposable {
  readonly url: string;
  readonly #directory: string;
  readonly #port: number;
  readonly #program: string;
  readonly #flags: readonly string[];
  #process: ChildProcess;

  private constructor(program: string, directory: string, port: number, password: string | undefined) {
    this.#program = program;
    this.#directory = directory;
    this.#port = port;
    this.#flags = password === undefined ? [] : ['--requirepass', password];
    this.url = `redis://${password === undefined ? '' : `:${password}@`}127.0.0.1:${port}`;
    this.#process = this.#spawned();
  }

  static async start(kind: RedisKind, password?: string): Promise<RedisServer> {
    const program = findProgram(kind);
    if (program === undefined) throw new Error(explainMissingRedis(kind));
    const directory = await mkdtemp(path.join(tmpdir(), `muster-${kind}-`));
    const server = new RedisServer(program, directory, await freePort(), password);
    try {
      await server.#untilReady();
      return server;
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Forgets everything. @returns how many keys there were. */
  async wipe(): Promise<number> {
    await using client = await this.#connected();
    const keys = await client.redis.dbSize();
    await client.redis.flushAll();
    return keys;
  }

  async countKeys(): Promise<number> {
    await using client = await this.#connected();
    return await client.redis.dbSize();
  }

  async set(key: string, fields: Record<string, string>): Promise<void> {
    await using client = await this.#connected();
    await client.redis.hSet(key, fields);
  }

  /** Seconds until a key is forgotten. */
  async secondsLeft(key: string): Promise<number> {
    await using client = await this.#connected();
    return await client.redis.ttl(key);
  }

  /** As `kill -9` does. */
  async kill(): Promise<void> {
    const exit = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await exit;
  }

  /** It answers nothing until it goes on. */
  pause(): Disposable {
    this.#process.kill('SIGSTOP');
    return { [Symbol.dispose]: () => void this.#process.kill('SIGCONT') };
  }

  /** After it was killed. */
  async startAgain(): Promise<void> {
    this.#process = this.#spawned();
    await this.#untilReady();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode === null && this.#process.signalCode === null) await this.kill();
    await rm(this.#directory, { recursive: true });
  }

  #spawned(): ChildProcess {
    const own = ['--port', String(this.#port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', this.#directory];
    return spawn(...dependent(this.#program, [...own, ...this.#flags]), { stdio: 'ignore' });
  }

  async #untilReady(): Promise<void> {
    await eventually(`${this.#program} answers`, async () => {
      if (this.#process.exitCode !== null) throw new Error(`${this.#program} ended with code ${this.#process.exitCode}`);
      try {
        await using client = await this.#connected();
        return (await client.redis.ping()) === 'PONG';
      } catch {
        return false;
      }
    });
  }

  async #connected() {
    const redis = createClient({ url: this.url, socket: { reconnectStrategy: false } });
    redis.on('error', () => undefined);
    await redis.connect();
    return { redis, [Symbol.asyncDispose]: async () => redis.destroy() };
  }
}
