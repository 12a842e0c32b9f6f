import { setImmediate } from 'node:timers/promises';
import { ConversationDigest } from './conversation-digest.ts';
import type { Answered, Completion, CompletionRequest, ModelEndpoint, RelayedRequest } from './model-endpoint.ts';
import type { EpisodeTurns, StoredTurn } from './stored-turns.ts';

/**
 * The model of one episode, which is not asked again for what it has answered before the episode was broken off. The episode is played from its
 * beginning in a new workspace. As long as each action has the same observation as before, the requests are the same, and so are the answers. From
 * the first different observation on, the model is asked: an answer is repeated only for the conversation that it was given to.
 *
 * The agent acts on an answer, and the model is asked for the next one, while the answer is still being stored: the workspace is lost with this
 * process. The request after that waits until it is stored, so no more than two answers are lost.
 */
export class ResumedEndpoint implements ModelEndpoint, AsyncDisposable {
  readonly #endpoint: ModelEndpoint;
  readonly #turns: EpisodeTurns;
  readonly #episode: string;
  readonly #conversation = new ConversationDigest();
  #known: Promise<Map<string, Completion>> | undefined;
  #stored: Promise<unknown> = Promise.resolve();
  /** Resolves when all answers but the last are stored. */
  #storedBefore: Promise<unknown> = Promise.resolve();

  /** @param episode its name, unique in the store. */
  constructor(endpoint: ModelEndpoint, turns: EpisodeTurns, episode: string) {
    this.#endpoint = endpoint;
    this.#turns = turns;
    this.#episode = episode;
  }

  async complete(request: CompletionRequest | RelayedRequest, signal: AbortSignal): Promise<Answered> {
    this.#known ??= this.#read();
    const digest = this.#conversation.compute(request);
    const known = await this.#known;
    await this.#storedBefore;
    const stored = known.get(digest);
    // A stored answer is used only once: a program that repeats a request wants another answer.
    if (stored && known.delete(digest)) return stored;
    const answered = await this.#endpoint.complete(request, signal);
    if (answered.kind === 'message') this.#store({ request: digest, answer: answered });
    return answered;
  }

  /** Resolves when all answers are stored. @throws InfrastructureError when the store cannot do it. */
  async settle(): Promise<void> {
    await this.#stored;
  }

  /** Forgets the turns, which are of no use after the episode's end. @throws as `settle` does. */
  async forget(): Promise<void> {
    await this.settle();
    await this.#turns.forget(this.#episode);
  }

  /** Nothing more is stored. */
  async [Symbol.asyncDispose](): Promise<void> {
    // Callers that need the answers get an error from `settle`.
    await this.#stored.catch(() => undefined);
  }

  #store(turn: StoredTurn): void {
    this.#storedBefore = this.#stored;
    this.#stored = Promise.all([this.#stored, this.#addLater(turn)]);
    // The request after the next one, or the end of the episode, reports the error.
    this.#stored.catch(() => undefined);
  }

  /** The caller acts on the answer first: writing it takes a processor that the action would wait for. */
  async #addLater(turn: StoredTurn): Promise<void> {
    await setImmediate();
    await this.#turns.add(this.#episode, turn);
  }

  async #read(): Promise<Map<string, Completion>> {
    return new Map((await this.#turns.read(this.#episode)).map(({ request, answer }) => [request, answer]));
  }
}
