import { createHash, type Hash } from 'node:crypto';
import { computeOnce } from '../../../kernel/once.ts';
import type { ChatMessage, CompletionRequest, RelayedRequest } from './model-endpoint.ts';

/** SHA-256 of the JSON of a conversation's requests. Each request repeats the one before it, so only new messages are written and hashed. */
export class ConversationDigest {
  #messages: readonly ChatMessage[] = [];
  #hash = begin();

  compute(request: CompletionRequest | RelayedRequest): string {
    if ('body' in request) return createHash('sha256').update(JSON.stringify(request)).digest('hex');
    const { messages, tools, seed } = request;
    if (!this.#messages.every((message, i) => message === messages[i])) [this.#messages, this.#hash] = [[], begin()];
    const known = this.#messages.length;
    for (const [i, message] of messages.slice(known).entries())
      this.#hash.update(`${known + i === 0 ? '' : ','}${JSON.stringify(message)}`);
    this.#messages = [...messages];
    return this.#hash
      .copy()
      .update(`],"tools":${writeTools(tools)},"seed":${seed}}`)
      .digest('hex');
  }
}

/** The JSON of tools. All requests of an agent share them. */
const writeTools = computeOnce((tools: CompletionRequest['tools']) => JSON.stringify(tools));

function begin(): Hash {
  return createHash('sha256').update('{"messages":[');
}
