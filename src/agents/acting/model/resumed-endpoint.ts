import { createHash } from 'node:crypto';
import type { Answered, Completion, CompletionRequest, ModelEndpoint, RelayedRequest } from './model-endpoint.ts';
import type { EpisodeTurns } from './stored-turns.ts';

/**
 * The model of one episode, which is not asked again for what it has answered before the episode was broken off. The episode is played from its beginning
 * in a new workspace. As long as each action has the same observation as before, the requests are the same, and so are the answers. From the first
 * observation that differs on, the model is asked: no answer stands behind a conversation that it was not given to.
 */
export class ResumedEndpoint implements ModelEndpoint {
  readonly #endpoint: ModelEndpoint;
  readonly #turns: EpisodeTurns;
  readonly #episode: string;
  #known: Promise<Map<string, Completion>> | undefined;

  /** @param episode its name, unique in the store. */
  constructor(endpoint: ModelEndpoint, turns: EpisodeTurns, episode: string) {
    this.#endpoint = endpoint;
    this.#turns = turns;
    this.#episode = episode;
  }

  async complete(request: CompletionRequest | RelayedRequest, signal: AbortSignal): Promise<Answered> {
    this.#known ??= this.#read();
    const digest = createHash('sha256').update(JSON.stringify(request)).digest('hex');
    const known = await this.#known;
    const stored = known.get(digest);
    // Once: a program that asks the same again wants another answer.
    if (stored && known.delete(digest)) return stored;
    const answered = await this.#endpoint.complete(request, signal);
    if (answered.kind === 'message') await this.#turns.add(this.#episode, { request: digest, answer: answered });
    return answered;
  }

  async #read(): Promise<Map<string, Completion>> {
    return new Map((await this.#turns.read(this.#episode)).map(({ request, answer }) => [request, answer]));
  }
}
