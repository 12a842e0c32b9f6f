import { z } from 'zod';
import type { GivenAction } from '../../agents/actions/action.ts';
import { rewardSchema, stepAnswerSchema, type RewardAnswer, type StepAnswer } from '../../agents/arena/episode-answers.ts';
import {
  agentEpisodeSchema,
  episodePageSchema,
  gradingSchema,
  startedEpisodeSchema,
  storedStepsSchema,
} from '../http/schemas/agent-episode-schemas.ts';
import { diffSchema, forksSchema } from '../http/schemas/episode-branch-schemas.ts';
import { SLOW_ANSWER_MILLISECONDS, type Calls } from './calls.ts';

export type AgentEpisode = z.infer<typeof agentEpisodeSchema>;
export type StartedAgentEpisode = z.infer<typeof startedEpisodeSchema>;

export interface AgentEpisodeFilter {
  readonly task?: string | undefined;
  readonly agent?: string | undefined;
  readonly state?: AgentEpisode['state'] | undefined;
  readonly leastReward?: number | undefined;
}

export type EpisodeDiff = z.infer<typeof diffSchema>;

export interface ForkOptions {
  readonly at?: number | undefined;
  readonly n?: number | undefined;
  /** Label of the forks in lists; as the episode's when left out. */
  readonly agent?: string | undefined;
}

const WAIT_SECONDS = 60;
const PAGE = 50;

/** Episodes of an agent on tasks that the server has. Throws as `MusterClient` does. */
export class ArenaClient {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /** Does not repeat the request when no answer comes, as that would begin two episodes. */
  start(task: string, agent: string, seed = 0, signal?: AbortSignal): Promise<StartedAgentEpisode> {
    const body = { task, agent, seed };
    return this.#calls.askOnce(startedEpisodeSchema, { method: 'POST', path: '/v1/episodes', body, signal });
  }

  /** @param number of the step, from 1: it makes a repeated request safe. */
  step(episode: string, number: number, action: GivenAction, signal?: AbortSignal): Promise<StepAnswer> {
    const body = { ...action, step: number };
    const path = buildEpisodePath(episode, '/steps');
    return this.#calls.ask(stepAnswerSchema, { method: 'POST', path, body, signal, answerMilliseconds: SLOW_ANSWER_MILLISECONDS });
  }

  /** Returns the reward of a submitted episode; waits until it is graded. */
  async reward(episode: string, signal?: AbortSignal): Promise<RewardAnswer> {
    const path = buildEpisodePath(episode, `/reward?wait=${WAIT_SECONDS}`);
    const answerMilliseconds = 2 * WAIT_SECONDS * 1000;
    for (;;) {
      const answer = await this.#calls.ask(z.union([rewardSchema, gradingSchema]), { method: 'GET', path, signal, answerMilliseconds });
      if ('outcome' in answer) return answer;
    }
  }

  get(episode: string, signal?: AbortSignal): Promise<AgentEpisode> {
    return this.#calls.ask(agentEpisodeSchema, { method: 'GET', path: buildEpisodePath(episode), signal });
  }

  /** Lists the latest first; requests the next page when the last one has been consumed. */
  async *list(filter: AgentEpisodeFilter = {}, signal?: AbortSignal): AsyncGenerator<AgentEpisode> {
    let after: string | null = null;
    do {
      const given = Object.entries({ ...filter, after }).flatMap(([key, value]): [string, string][] =>
        value === undefined || value === null ? [] : [[key, String(value)]],
      );
      const query = new URLSearchParams([['limit', String(PAGE)], ...given]);
      const path = `/v1/episodes?${query.toString()}`;
      const page: z.infer<typeof episodePageSchema> = await this.#calls.ask(episodePageSchema, { method: 'GET', path, signal });
      yield* page.items;
      after = page.next;
    } while (after !== null);
  }

  /** Returns the steps after a number, a page at a time. */
  async steps(episode: string, after = 0, signal?: AbortSignal): Promise<z.infer<typeof storedStepsSchema>['items']> {
    const path = buildEpisodePath(episode, `/steps?after=${after}`);
    return (await this.#calls.ask(storedStepsSchema, { method: 'GET', path, signal })).items;
  }

  /**
   * Begins episodes that continue after a step of this one. Does not repeat the request when no answer comes, as that would begin more of them.
   *
   * @param at number of the step, 0 for the beginning; the last one when left out. @param n how many.
   */
  async fork(episode: string, { at, n = 1, agent }: ForkOptions = {}, signal?: AbortSignal): Promise<readonly AgentEpisode[]> {
    const call = { method: 'POST', path: buildEpisodePath(episode, '/fork'), body: { at, n, agent }, signal } as const;
    return (await this.#calls.askOnce(forksSchema, call)).items;
  }

  /** Changes of the files between two steps; from the beginning until now when left out. */
  diff(
    episode: string,
    { from = 0, at }: { readonly from?: number; readonly at?: number | undefined } = {},
    signal?: AbortSignal,
  ): Promise<EpisodeDiff> {
    const query = new URLSearchParams({ from: String(from), ...(at === undefined ? {} : { at: String(at) }) });
    return this.#calls.ask(diffSchema, { method: 'GET', path: buildEpisodePath(episode, `/diff?${query.toString()}`), signal });
  }

  /**
   * Begins an episode on the present version of the task, or on another one, and repeats the steps of this one there.
   *
   * @param onStep called for each step, with the earlier and the present answer. @returns its id. It ends early when one of its steps does.
   */
  async replay(
    episode: string,
    {
      task,
      onStep = () => undefined,
    }: { readonly task?: string | undefined; readonly onStep?: (before: StepAnswer, now: StepAnswer) => void } = {},
    signal?: AbortSignal,
  ): Promise<string> {
    const played = await this.get(episode, signal);
    const { episode: id } = await this.start(task ?? played.task, played.agent, played.seed, signal);
    for (let after = 0; ;) {
      const steps = await this.steps(episode, after, signal);
      for (const { action, answer: before } of steps) {
        const path = buildEpisodePath(id, '/steps');
        const body = { ...z.looseObject({}).parse(action), step: before.step };
        const now = await this.#calls.ask(stepAnswerSchema, {
          method: 'POST',
          path,
          body,
          signal,
          answerMilliseconds: SLOW_ANSWER_MILLISECONDS,
        });
        onStep(before, now);
        if (now.done) return id;
      }
      const last = steps.at(-1);
      if (last === undefined) return id;
      after = last.answer.step;
    }
  }

  /** Cancels it; an episode that is over stays as it is. */
  cancel(episode: string, signal?: AbortSignal): Promise<AgentEpisode> {
    return this.#calls.ask(agentEpisodeSchema, { method: 'DELETE', path: buildEpisodePath(episode), signal });
  }
}

function buildEpisodePath(episode: string, part = ''): string {
  return `/v1/episodes/${encodeURIComponent(episode)}${part}`;
}
