import { once } from 'node:events';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** Tokens of the first prompt, and of each turn: of its observation, and of the model. */
const PROMPT = 200;
const GIVEN = 40;
const SAMPLED = 40;

/**
 * A model server that answers after a time that is given, with token ids as vLLM has them. It looks at nothing but how many turns there were: it lists
 * the directory again and again, and submits in the last turn.
 */
export class LatentModel implements AsyncDisposable {
  readonly #server: http.Server;
  readonly #answers: readonly string[];
  readonly #latencyMs: number;
  answered = 0;
  #answeringMs = 0;
  /** By this process's clock, in milliseconds: when the first request of each trajectory came, and when its last answer was sent. */
  readonly #acting = new Map<number, { readonly from: number; to: number }>();

  private constructor(turns: number, latencyMs: number) {
    this.#latencyMs = latencyMs;
    this.#answers = Array.from({ length: turns }, (_, turn) => formatAnswer(turn, turn === turns - 1));
    this.#server = http.createServer({ keepAliveTimeout: 60_000 }, (request, response) => void this.#answer(request, response));
  }

  static async start(turns: number, latencyMs: number): Promise<LatentModel> {
    const model = new LatentModel(turns, latencyMs);
    model.#server.listen(0, '127.0.0.1');
    await once(model.#server, 'listening');
    return model;
  }

  get url(): string {
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}/v1`;
  }

  /** From the first request to the last answer. */
  get seconds(): number {
    const all = [...this.#acting.values()];
    return (Math.max(...all.map(({ to }) => to)) - Math.min(...all.map(({ from }) => from))) / 1000;
  }

  /** Of one trajectory, for one turn: from a request to the next, or to the last answer. */
  get secondsOfTurn(): number {
    const all = [...this.#acting.values()];
    return all.reduce((sum, { from, to }) => sum + to - from, 0) / this.answered / 1000;
  }

  /** What it takes for one answer, from the request's arrival on: its timer and its reading come on top of the time that is given. */
  get secondsOfAnswer(): number {
    return this.#answeringMs / this.answered / 1000;
  }

  /** What was asked until now does not count. */
  reset(): void {
    this.#acting.clear();
    this.answered = this.#answeringMs = 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const from = performance.now();
    let body = '';
    for await (const piece of request) body += String(piece);
    const turn = body.split('"role":"assistant"').length - 1;
    // A turn's seed is that of its trajectory and its own number.
    const trajectory = Number(/"seed":(?<seed>\d+)/.exec(body)?.groups?.['seed']) - turn;
    const acting = this.#acting.get(trajectory) ?? { from, to: from };
    this.#acting.set(trajectory, acting);
    await sleep(this.#latencyMs);
    response.writeHead(200, { 'content-type': 'application/json' }).end(this.#answers[turn] ?? '');
    this.answered += 1;
    acting.to = performance.now();
    this.#answeringMs += acting.to - from;
  }
}

function formatAnswer(turn: number, isLast: boolean): string {
  const sampled = listIds(SAMPLED, turn);
  const prompt = [...listIds(PROMPT, 0), ...Array.from({ length: turn }, (_, i) => [...listIds(SAMPLED, i), ...listIds(GIVEN, i)]).flat()];
  const call = { id: `call-${turn}`, type: 'function', function: { name: isLast ? 'submit' : 'list_files', arguments: '{}' } };
  return JSON.stringify({
    model: 'latent',
    prompt_token_ids: prompt,
    choices: [
      {
        message: { role: 'assistant', content: '', tool_calls: [call] },
        finish_reason: 'tool_calls',
        token_ids: sampled,
        logprobs: { content: sampled.map((id) => ({ token: String(id), logprob: -id / 50_000 })) },
      },
    ],
    usage: { prompt_tokens: prompt.length, completion_tokens: SAMPLED },
  });
}

function listIds(count: number, offset: number): readonly number[] {
  return Array.from({ length: count }, (_, i) => (i * 7919 + offset) % 32_768);
}
