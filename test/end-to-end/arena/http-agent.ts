import { join } from 'node:path';
import { expect } from 'vitest';
import { z } from 'zod';
import { stepAnswerSchema, type StepAnswer } from '../../../src/agents/arena/episode-answers.ts';
import { REPOSITORY } from '../stage.ts';

export const TASKS = join(REPOSITORY, 'examples/code');
export const TASK = 'fix-bug-in-sort-function';
export const episodeSchema = z.looseObject({ episode: z.string() });

export interface Answered {
  readonly status: number;
  readonly text: string;
  readonly json: unknown;
}

/** One caller of a server. */
export class Agent {
  readonly #url: string;
  readonly #token: string | undefined;

  constructor(url: string, token?: string) {
    this.#url = url;
    this.#token = token;
  }

  async send(method: string, path: string, body?: unknown): Promise<Answered> {
    const answer = await fetch(`${this.#url}${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, text, json: text.startsWith('{') ? JSON.parse(text) : undefined };
  }

  async start(task = TASK): Promise<string> {
    const { status, json } = await this.send('POST', '/v1/episodes', { task, agent: 'test' });
    expect(status).toBe(201);
    return episodeSchema.parse(json).episode;
  }

  async step(episode: string, body: object): Promise<StepAnswer> {
    const { status, json } = await this.send('POST', `/v1/episodes/${episode}/steps`, body);
    expect([status, json]).toEqual([200, expect.anything()]);
    return stepAnswerSchema.parse(json);
  }
}
