import type { ServedModel } from '../../agents/acting/model/model-agent.ts';
import type { Answered, Completion, CompletionRequest, ModelEndpoint, RelayedRequest } from '../../agents/acting/model/model-endpoint.ts';
import { InfrastructureError, InputError } from '../../kernel/errors.ts';
import { readChatAnswer } from './chat-answer.ts';
import { buildChatRequest } from './chat-request.ts';
import type { ModelServer } from './model-server.ts';

const SHOWN = 100;

/** The model of one agent, for one evaluation: it has to stay the same model. */
export class ChatEndpoint implements ModelEndpoint {
  readonly #agent: ServedModel;
  readonly #server: ModelServer;
  /** As the server called it first. */
  #model: string | undefined;

  constructor(agent: ServedModel, server: ModelServer) {
    this.#agent = agent;
    this.#server = server;
  }

  complete(request: CompletionRequest | RelayedRequest, signal: AbortSignal): Promise<Answered> {
    return this.#server.ask(JSON.stringify(buildChatRequest(request, this.#agent)), (answer) => this.#read(answer), signal);
  }

  #read(answer: unknown): Completion {
    const completion = readChatAnswer(answer);
    const { tokenIds } = this.#agent;
    if (tokenIds !== 'none' && completion.tokens?.logprobs === undefined) {
      const remedy = 'take a server that does, or tokenIds: none';
      const asked = `which "tokenIds: ${tokenIds}" asks for`;
      throw new InputError('endpoint.no-tokens', `${this.#server.name} gives no token ids with log-probabilities, ${asked}; ${remedy}`);
    }
    this.#model ??= completion.model;
    if (completion.model !== this.#model)
      throw new InfrastructureError(
        'endpoint.other-model',
        `${this.#server.name} answers as ${format(completion.model)}, and before as ${format(this.#model)}; an evaluation is of one model`,
      );
    return completion;
  }
}

function format(model: string): string {
  return JSON.stringify(model.slice(0, SHOWN));
}
