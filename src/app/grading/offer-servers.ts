import type { OfferServer } from '../../adapters/arena/offers/offer-server.ts';
import type { EpisodeOffers } from '../../agents/acting/external/episode-offers.ts';
import type { ExternalAgent } from '../../agents/acting/external/external-agent.ts';
import type { Clock } from '../../kernel/clock.ts';
import { InputError } from '../../kernel/errors.ts';
import { readKey } from './agent-keys.ts';

/** Servers at which agents outside of Muster take episodes of this process, each agent at its own address. Part of the composition root. */
export class OfferServers implements AsyncDisposable {
  readonly #mayListen: boolean;
  readonly #clock: Clock;
  readonly #servers = new Map<string, { readonly digest: string; readonly opening: Promise<OfferServer> }>();

  /** @param mayListen whether agents come from the owner of this process, and not from callers. */
  constructor(mayListen: boolean, clock: Clock) {
    this.#mayListen = mayListen;
    this.#clock = clock;
  }

  /** @param digest of the agent. @throws InputError `agent.external`, `agent.listen`, `agent.key` */
  async open({ listen, keyVariable }: ExternalAgent, digest: string): Promise<EpisodeOffers> {
    if (!this.#mayListen)
      throw new InputError(
        'agent.external',
        'agent: external listens at its own address, which a server does not do for callers; evaluate it with "muster eval", or let it play the arena of the server',
      );
    const open = this.#servers.get(listen);
    if (open && open.digest !== digest)
      throw new InputError(
        'agent.listen',
        `listen: ${listen} is also that of another agent of this evaluation; give each agent its own port`,
      );
    const opening = open?.opening ?? this.#listen(listen, readKey(keyVariable));
    this.#servers.set(listen, { digest, opening });
    try {
      return await opening;
    } catch (error) {
      this.#servers.delete(listen);
      throw error;
    }
  }

  /** Loads the server on use: few evaluations need its many modules. */
  async #listen(address: string, key: string | undefined): Promise<OfferServer> {
    const { OfferServer } = await import('../../adapters/arena/offers/offer-server.ts');
    return await OfferServer.listen(address, key, this.#clock);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { opening } of this.#servers.values()) await (await opening)[Symbol.asyncDispose]();
    this.#servers.clear();
  }
}
