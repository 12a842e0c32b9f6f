import { ChatEndpoint } from '../../adapters/models/chat-endpoint.ts';
import { GatewayServer } from '../../adapters/models/gateway/gateway-server.ts';
import { ModelServer } from '../../adapters/models/model-server.ts';
import type { ServedModel } from '../../agents/acting/model/model-agent.ts';
import type { ModelEndpoint } from '../../agents/acting/model/model-endpoint.ts';
import type { Config } from '../../config/config.ts';
import type { Clock } from '../../kernel/clock.ts';
import { suggestNames } from '../../kernel/documents/did-you-mean.ts';
import { InputError } from '../../kernel/errors.ts';
import type { Random } from '../../kernel/seeded-random.ts';
import { readKey } from './agent-keys.ts';

interface Address {
  readonly url: string;
  readonly keyVariable: string | undefined;
}

/** The model servers of this process's agents, each with its connections and limits. It belongs to the composition root. */
export class ModelServers implements Disposable {
  readonly #config: Config['models'];
  readonly #mayNameUrls: boolean;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #servers = new Map<string, ModelServer>();
  /** The gateway through which programs reach the servers. */
  readonly gateway: GatewayServer;

  /** @param mayNameUrls whether agents come from the owner of this process, and not from callers. */
  constructor(config: Config['models'], mayNameUrls: boolean, clock: Clock, random: Random) {
    this.#config = config;
    this.#mayNameUrls = mayNameUrls;
    this.#clock = clock;
    this.#random = random;
    this.gateway = new GatewayServer(clock);
  }

  /** Returns the endpoint of one agent in one evaluation. @throws InputError `agent.endpoint`, `agent.key` */
  getEndpoint(agent: ServedModel): ModelEndpoint {
    return new ChatEndpoint(agent, this.#getServer(agent));
  }

  /** Says what keeps the agent's requests waiting. Returns undefined while its server answers. @throws as `getEndpoint` does. */
  getProblem(agent: ServedModel): string | undefined {
    return this.#getServer(agent).problem;
  }

  /** @throws InputError `agent.endpoint` when the configuration has no endpoint of this name. */
  assertNamed(endpoint: string): void {
    if (!Object.hasOwn(this.#config.endpoints, endpoint)) throw this.#createUnknownError(endpoint);
  }

  [Symbol.dispose](): void {
    this.gateway[Symbol.dispose]();
    for (const server of this.#servers.values()) server[Symbol.dispose]();
  }

  #getServer(agent: ServedModel): ModelServer {
    const { url, keyVariable } = this.#getAddress(agent);
    const id = `${url} ${keyVariable ?? ''}`;
    let server = this.#servers.get(id);
    if (!server) {
      const { concurrency, answerSeconds, patienceSeconds } = this.#config;
      const terms = { url, key: readKey(keyVariable), concurrency, answerSeconds, patienceSeconds };
      server = new ModelServer(terms, this.#clock, this.#random);
      this.#servers.set(id, server);
    }
    return server;
  }

  #getAddress({ endpoint, keyVariable }: ServedModel): Address {
    const named = Object.hasOwn(this.#config.endpoints, endpoint) ? this.#config.endpoints[endpoint] : undefined;
    if (named) return { url: named.url, keyVariable: named.keyVariable };
    if (!endpoint.includes('://')) throw this.#createUnknownError(endpoint);
    if (this.#mayNameUrls) return { url: endpoint, keyVariable };
    const expected = `on a server, expected a name from models.endpoints of its configuration, ${this.#listNames()}`;
    throw new InputError('agent.endpoint', `endpoint: ${expected}; got a URL, to which it would send requests for a caller`);
  }

  #createUnknownError(endpoint: string): InputError {
    const hint = suggestNames(endpoint, Object.keys(this.#config.endpoints));
    return new InputError(
      'agent.endpoint',
      `endpoint: there is no "${endpoint}" in models.endpoints of the configuration, ${this.#listNames()}${hint}`,
    );
  }

  #listNames(): string {
    const names = Object.keys(this.#config.endpoints);
    return names.length === 0 ? 'which names none' : `which names ${names.join(', ')}`;
  }
}
