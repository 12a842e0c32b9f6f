import { randomBytes } from 'node:crypto';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { EpisodeOffers, OfferedEpisode } from '../../../agents/acting/external/episode-offers.ts';
import { digestBytes } from '../../../kernel/canonical-json.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { InputError, MusterError, getMessage } from '../../../kernel/errors.ts';
import { assertAccessFits, findStrangeOrigin } from '../../../service/access/loopback.ts';
import { OfferQueue } from './offer-queue.ts';

/** Room for a patch or a file that an agent sends. */
const BODY_BYTES = 32 * 2 ** 20;
const ID_BYTES = 12;
const MOST_WAIT_SECONDS = 60;

const takingSchema = z.strictObject({
  agent: z.string().min(1).max(200).default('external'),
  wait: z.number().min(0).max(MOST_WAIT_SECONDS).default(20),
});
const stepSchema = z.looseObject({ step: z.int().min(1).max(1_000_000_000).optional() });

interface Offer {
  readonly id: string;
  readonly episode: OfferedEpisode;
  /** The agent that has taken it. */
  agent: string | undefined;
}

/** What is wrong with a request. */
class OfferProblem extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Hands out episodes to agents over HTTP, with the calls and answers of the arena. An agent does not name a task: it gets the next episode. */
export class OfferServer implements EpisodeOffers, AsyncDisposable {
  readonly address: string;
  readonly #app: FastifyInstance;
  readonly #queue: OfferQueue<Offer>;
  readonly #offers = new Map<string, Offer>();
  readonly #key: string | undefined;

  private constructor(address: string, key: string | undefined, clock: Clock) {
    this.address = `http://${address}`;
    this.#key = key && digestBytes(key);
    this.#queue = new OfferQueue(clock);
    this.#app = fastify({ bodyLimit: BODY_BYTES, forceCloseConnections: true });
    this.#app.setErrorHandler((error, _request, reply) => void sendProblem(reply, error));
    this.#app.setNotFoundHandler(({ method, url }) => {
      throw new OfferProblem(404, 'route.not-found', `there is no ${method} ${url.slice(0, 100)}; see docs/agents.md for the calls`);
    });
    this.#app.addHook('onRequest', async (request) => this.#assertAllowed(request));
    this.#addRoutes();
  }

  /**
   * @param address host and port. @param key that agents have to send; undefined where only this machine reaches the address. @throws InputError
   * `agent.listen` when it is not available, or other machines would need no key.
   */
  static async listen(address: string, key: string | undefined, clock: Clock): Promise<OfferServer> {
    const { hostname, port } = new URL(`http://${address}`);
    try {
      assertAccessFits(key === undefined ? 'off' : 'tokens', hostname);
    } catch {
      throw new InputError('agent.listen', `listen: other machines can reach ${address}; set keyVariable, or listen on 127.0.0.1`);
    }
    const server = new OfferServer(address, key, clock);
    try {
      await server.#app.listen({ host: hostname.replaceAll(/[[\]]/g, ''), port: Number(port || '80') });
    } catch (error) {
      throw new InputError('agent.listen', `listen: ${address} cannot be used to listen: ${getMessage(error)}; choose another port`, {
        cause: error,
      });
    }
    return server;
  }

  offer(episode: OfferedEpisode): Disposable {
    const offer: Offer = { id: `ep-${randomBytes(ID_BYTES).toString('hex')}`, episode, agent: undefined };
    this.#offers.set(offer.id, offer);
    this.#queue.offer(offer);
    return {
      [Symbol.dispose]: () => {
        this.#queue.withdraw(offer);
        this.#offers.delete(offer.id);
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#app.close();
  }

  #addRoutes(): void {
    this.#app.post('/v1/episodes', async ({ body }, reply) => {
      const { agent, wait } = parseBody(takingSchema, body ?? {});
      const offer = await this.#queue.take(wait, createGoneSignal(reply));
      if (offer === undefined) return reply.code(204).send();
      offer.agent = agent;
      offer.episode.take();
      return reply.code(201).send(describeOffer(offer));
    });
    this.#app.get('/v1/episodes', async () => ({
      items: [...this.#offers.values()].filter(({ agent }) => agent !== undefined).map(describeOffer),
    }));
    this.#app.post<{ Params: { id: string } }>('/v1/episodes/:id/steps', async ({ params, body }, reply) => {
      const { step, ...action } = parseBody(stepSchema, body);
      const answered = await this.#find(params.id).episode.step(step, action);
      if (answered.kind === 'answered') return reply.type('application/json').send(answered.text);
      throw refuse(answered.reason, answered.expected, step);
    });
    this.#app.delete<{ Params: { id: string } }>('/v1/episodes/:id', async ({ params }, reply) => {
      this.#find(params.id).episode.giveUp();
      return reply.code(204).send();
    });
  }

  #find(id: string): Offer {
    const offer = this.#offers.get(id);
    if (offer?.agent !== undefined) return offer;
    throw new OfferProblem(409, 'episode.over', `there is no open episode ${id.slice(0, 100)}: it has ended, or never began`);
  }

  #assertAllowed({ headers, ip }: FastifyRequest): void {
    if (this.#key === undefined) {
      const { host, origin } = headers;
      const strange = findStrangeOrigin({ remoteAddress: ip, host, origin, forwarded: headers['x-forwarded-for']?.toString() });
      if (strange !== undefined) throw new OfferProblem(403, 'access.not-local', `expected a program on this machine: ${strange}`);
    } else if (digestBytes((headers.authorization ?? '').replace(/^Bearer /i, '')) !== this.#key)
      throw new OfferProblem(401, 'access.key', 'expected the key of the evaluation, as "authorization: Bearer KEY"');
  }
}

/** Describes an episode in the arena's form of a started episode. */
function describeOffer({ id, agent, episode: { opening, steps } }: Offer): object {
  const self = `/v1/episodes/${id}`;
  return { episode: id, agent, steps, ...opening, links: { self, steps: `${self}/steps` } };
}

function refuse(reason: 'conflict' | 'gap' | 'over', expected: number, given: number | undefined): OfferProblem {
  if (reason === 'over') return new OfferProblem(409, 'episode.over', 'the episode takes no more steps');
  const said = reason === 'gap' ? 'is too high' : 'was another one';
  return new OfferProblem(409, `step.${reason}`, `step ${given} ${said}; expected ${expected}`);
}

function parseBody<Schema extends z.ZodType>(schema: Schema, body: unknown): z.infer<Schema> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => `${['body', ...path].join('.')}: ${message}`);
  throw new OfferProblem(400, 'request.invalid', problems.join('; '));
}

function createGoneSignal(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort(new DOMException('the agent has hung up', 'AbortError')));
  return gone.signal;
}

/** Sends a problem as RFC 9457 has it, like the arena. */
function sendProblem(reply: FastifyReply, error: unknown): FastifyReply {
  const { status, code } = describeProblem(error);
  const document = { type: 'about:blank', title: code, status, code, detail: getMessage(error) };
  return reply.code(status).type('application/problem+json').send(JSON.stringify(document));
}

function describeProblem(error: unknown): { readonly status: number; readonly code: string } {
  if (error instanceof OfferProblem) return error;
  // Its workspace is lost: the episode is offered again, from its beginning.
  if (error instanceof MusterError) return { status: 503, code: error.code };
  const given = z.object({ statusCode: z.int().min(400).max(499) }).safeParse(error);
  return given.success ? { status: given.data.statusCode, code: 'request.invalid' } : { status: 500, code: 'internal' };
}
