import { ClientOfflineError, createClient, defineScript, type CommandParser, type RedisClientType } from '@redis/client';
import { z } from 'zod';
import type { AgentEpisodeId } from '../../../agents/arena/episode-ids.ts';
import { episodeStateSchema } from '../../../agents/arena/episode-state-schema.ts';
import type { LiveEpisode, LiveEpisodes } from '../../../agents/arena/live-episodes.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { tryParseJson } from '../../../kernel/json-bounds.ts';
import { withTimeout } from '../../../kernel/deadline.ts';
import { getMessage, InfrastructureError, InputError } from '../../../kernel/errors.ts';

/** The longest time for the first connection to the server. */
const CONNECT_MS = 5000;
/** The longest wait for one answer: a step waits for it. */
const ANSWER_MS = 1000;
/** The pause between two attempts to connect again. */
const RECONNECT_MS = 500;
/** An episode whose server has gone is forgotten after this long; what is read again is then made of the stored steps. */
const KEPT_MS = 24 * 3600 * 1000;

/** Stores a state if `isNewer` would say that it is newer. */
const PUT_IF_NEWER = `
local known = redis.call('HMGET', KEYS[1], 'fence', 'steps')
local fence, steps = tonumber(ARGV[1]), tonumber(ARGV[2])
if known[1] and known[2] then
  if tonumber(known[1]) > fence then return 0 end
  if tonumber(known[1]) == fence and tonumber(known[2]) > steps then return 0 end
end
redis.call('HSET', KEYS[1], 'fence', ARGV[1], 'steps', ARGV[2], 'state', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1`;

const scripts = {
  putIfNewer: defineScript({
    SCRIPT: PUT_IF_NEWER,
    NUMBER_OF_KEYS: 1,
    parseCommand(parser: CommandParser, key: string, { fence, state }: LiveEpisode) {
      parser.pushKey(key);
      parser.push(String(fence), String(state.answered.length), JSON.stringify(state), String(KEPT_MS));
    },
    transformReply: (reply: unknown): boolean => reply === 1,
  }),
};

type Client = RedisClientType<Record<string, never>, Record<string, never>, typeof scripts>;

const liveSchema = z.strictObject({ fence: z.coerce.number().int().min(0), state: episodeStateSchema });

/** Live episodes in a server of Redis or Valkey, which several Musters share. */
export class RedisLiveEpisodes implements LiveEpisodes, AsyncDisposable {
  readonly #client: Client;
  readonly #name: string;
  readonly #clock: Clock;

  private constructor(client: Client, name: string, clock: Clock) {
    this.#client = client;
    this.#name = name;
    this.#clock = clock;
  }

  /**
   * @param url `redis://user:password@host:port/database`; `rediss` for TLS, `valkey` and `valkeys` are the same. @throws InputError `arena.live`
   * when the URL is invalid, or the server refuses the password; InfrastructureError `live.unreachable`.
   */
  static async open(url: string, clock: Clock): Promise<RedisLiveEpisodes> {
    const { address, name } = readRedisUrl(url);
    let isOpened = false;
    const client: Client = createClient({
      url: address,
      name: 'muster',
      scripts,
      // A step works without it, so a request without a connection fails at once.
      disableOfflineQueue: true,
      socket: { connectTimeout: CONNECT_MS, reconnectStrategy: () => (isOpened ? RECONNECT_MS : false) },
    });
    // Each call reports its failure by itself.
    client.on('error', () => undefined);
    try {
      await client.connect();
      await client.ping();
    } catch (error) {
      client.destroy();
      throw toOpeningError(name, error);
    }
    isOpened = true;
    return new RedisLiveEpisodes(client, name, clock);
  }

  async get(id: AgentEpisodeId): Promise<LiveEpisode | undefined> {
    const [fence, state] = await this.#translateErrors(this.#client.hmGet(formatKey(id), ['fence', 'state']));
    if (typeof fence !== 'string' || typeof state !== 'string') return undefined;
    // Another program's data counts as missing.
    const read = liveSchema.safeParse({ fence, state: tryParseJson(state) });
    return read.success ? read.data : undefined;
  }

  async put(id: AgentEpisodeId, episode: LiveEpisode): Promise<boolean> {
    return await this.#translateErrors(this.#client.putIfNewer(formatKey(id), episode));
  }

  async remove(id: AgentEpisodeId): Promise<void> {
    await this.#translateErrors(this.#client.del(formatKey(id)));
  }

  /** Reads name and version, as the server states them: `redis 7.0.15`. */
  async readVersion(): Promise<string> {
    return readVersion(await this.#translateErrors(this.#client.info('server')));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#client.destroy();
  }

  /** @throws InfrastructureError `live.failed` when there is no answer, or not in time. */
  async #translateErrors<Answer>(answer: Promise<Answer>): Promise<Answer> {
    try {
      return await withTimeout(this.#clock, ANSWER_MS, answer, () => new Error(`no answer within ${ANSWER_MS} ms`));
    } catch (error) {
      const reason = error instanceof ClientOfflineError ? 'there is no connection to it' : getMessage(error);
      throw new InfrastructureError('live.failed', `arena.live: ${this.#name} cannot be used: ${reason}`, { cause: error });
    }
  }
}

function formatKey(id: AgentEpisodeId): string {
  return `muster:episode:${id}`;
}

/** @returns the address for the client, and the server for people, without user and password. */
function readRedisUrl(url: string): { readonly address: string; readonly name: string } {
  const parsed = URL.parse(url);
  const protocol = PROTOCOLS[parsed?.protocol ?? ''];
  if (!parsed || protocol === undefined || parsed.hostname === '')
    throw new InputError('arena.live', 'arena.live: expected "memory", or redis://user:password@host:port/database (rediss:// for TLS)');
  return { address: protocol + url.slice(parsed.protocol.length), name: `${protocol}//${parsed.host}` };
}

const PROTOCOLS: Readonly<Record<string, string>> = {
  'redis:': 'redis:',
  'rediss:': 'rediss:',
  'valkey:': 'redis:',
  'valkeys:': 'rediss:',
};

function toOpeningError(name: string, error: unknown): Error {
  const message = getMessage(error);
  if (/^(WRONGPASS|NOAUTH|NOPERM|ERR (AUTH|invalid password|DB index))/.test(message))
    return new InputError(
      'arena.live',
      `arena.live: ${name} refuses the connection: ${message}; expected its user and password in the URL`,
      {
        cause: error,
      },
    );
  return new InfrastructureError('live.unreachable', `arena.live: ${name} cannot be reached: ${message || 'no connection'}`, {
    cause: error,
  });
}

function readVersion(info: string): string {
  const valkey = /^valkey_version:(\S+)/m.exec(info)?.[1];
  if (valkey !== undefined) return `valkey ${valkey}`;
  return `redis ${/^redis_version:(\S+)/m.exec(info)?.[1] ?? 'of an unknown version'}`;
}
