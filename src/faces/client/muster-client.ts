import type { z } from 'zod';
import { Deadline } from '../../kernel/deadline.ts';
import { InfrastructureError } from '../../kernel/errors.ts';
import type { Digest } from '../../kernel/ids.ts';
import type { ComparisonSummary } from '../../orchestrator/results/comparison-summary.ts';
import { transcriptSchema, type Transcript } from '../../agents/acting/transcript/transcript.ts';
import { replaySchema, type ReplayDocument } from '../../orchestrator/replay/replay-document.ts';
import type { Summary } from '../../orchestrator/results/summary.ts';
import type { EpisodeLine } from '../http/schemas/episode-schemas.ts';
import {
  evaluationPageSchema,
  evaluationSchema,
  type EvaluationItem,
  type EvaluationResource,
} from '../http/schemas/evaluation-schemas.ts';
import { grantListSchema, grantSchema, type Grant } from '../http/schemas/grant-schemas.ts';
import type { LiveMessage } from '../http/schemas/live-schemas.ts';
import { type Pool, type PoolChange, poolListSchema, poolSchema } from '../http/schemas/pool-schemas.ts';
import { suiteResourceSchema } from '../http/routes/suite-routes.ts';
import { issuedTokenSchema, type newTokenSchema, tokenPageSchema, tokenSchema, type Token } from '../http/schemas/token-schemas.ts';
import { isOver } from '../../service/orders/is-over.ts';
import { runningFiguresSchema } from '../../service/orders/running-figures.ts';
import { getAnswer, isComparisonSummary } from './answer-of.ts';
import { ArenaClient } from './arena-client.ts';
import { Calls, SLOW_ANSWER_MILLISECONDS, type CallsOptions } from './calls.ts';
import { WaitTimeoutError } from './client-errors.ts';
import type { CompareOptions, Submitting, SubmitOptions, Waiting } from './call-options.ts';
import { McpRelay } from './mcp-relay.ts';
import { listPath, type Filter } from './list-filter.ts';
import type { CheckpointLike } from './named-checkpoint.ts';
import { Submissions, type SubmissionOptions, type SuiteLike } from './submissions.ts';
import { streamEpisodes, buildEvaluationPath, streamEvents, streamLive, type FollowedEvent } from './streams.ts';
import { RolloutsClient, type RolloutTerms } from './rollouts-client.ts';
import type { RolloutsResource } from '../http/schemas/rollout-schemas.ts';

export type ClientOptions = CallsOptions & SubmissionOptions;

export type { CompareOptions, SubmitOptions, SuiteLike, Waiting };

interface Watched {
  readonly signal?: AbortSignal | undefined;
}

const NEVER = new AbortController().signal;

/**
 * A client of `muster serve`. Requests that are safe to repeat are repeated when a server cannot be reached or asks for it.
 *
 * The file is long because it is a list: a method for each call of the server that is not about agents' episodes or groups of rollouts.
 *
 * Each method throws RefusedError for what the server refuses; UnavailableError when patience has run out; InfrastructureError `muster.defect` or
 * `server.answer` for a defect of the server, or the address of something else; and its signal's reason.
 */
export class MusterClient {
  /** Playing tasks. */
  readonly arena: ArenaClient;
  /** Groups of trajectories for trainings. */
  readonly rollouts: RolloutsClient;
  readonly #calls: Calls;
  readonly #submissions: Submissions;

  constructor(options: ClientOptions) {
    this.#calls = new Calls(options);
    this.arena = new ArenaClient(this.#calls);
    this.rollouts = new RolloutsClient(this.#calls);
    this.#submissions = new Submissions(this.#calls, options);
  }

  /** Creates a relay for one program that uses the Model Context Protocol over pipes. */
  createMcpRelay(): McpRelay {
    return new McpRelay(this.#calls);
  }

  /** The server's address, without a slash at the end. */
  get url(): string {
    return this.#calls.options.url;
  }

  /**
   * Evaluates a checkpoint on a suite, waits, and returns the answer; with a baseline, the comparison with it.
   *
   * @throws EvaluationEndedError, which holds what was known by then; WaitTimeoutError; InputError for a checkpoint or suite that cannot be read.
   */
  evaluate(
    checkpoint: CheckpointLike,
    suite: SuiteLike,
    options?: SubmitOptions & Waiting & { readonly baseline?: undefined },
  ): Promise<Summary>;
  evaluate(
    checkpoint: CheckpointLike,
    suite: SuiteLike,
    options: SubmitOptions & Waiting & { readonly baseline: CheckpointLike },
  ): Promise<ComparisonSummary>;
  async evaluate(
    checkpoint: CheckpointLike,
    suite: SuiteLike,
    options: SubmitOptions & Waiting = {},
  ): Promise<Summary | ComparisonSummary> {
    return this.#answer(await this.submit(checkpoint, suite, options), options);
  }

  /** Compares candidates with a baseline on the same episodes, waits, and returns the verdicts. @throws as `evaluate` does. */
  async compare(
    baseline: CheckpointLike,
    candidates: CheckpointLike | readonly CheckpointLike[],
    suite: SuiteLike,
    options: CompareOptions & Waiting = {},
  ): Promise<ComparisonSummary> {
    const answer = await this.#answer(await this.submitComparison(baseline, candidates, suite, options), options);
    if (isComparisonSummary(answer)) return answer;
    throw new InfrastructureError('server.answer', 'the server answered a comparison with the summary of an evaluation');
  }

  /** Submits an evaluation as `evaluate` does, without waiting. It is played even if this process ends. */
  submit(checkpoint: CheckpointLike, suite: SuiteLike, options: SubmitOptions = {}): Promise<EvaluationResource> {
    return this.#submissions.evaluate(checkpoint, suite, options);
  }

  /** Submits a comparison as `compare` does, without waiting. */
  submitComparison(
    baseline: CheckpointLike,
    candidates: CheckpointLike | readonly CheckpointLike[],
    suite: SuiteLike,
    options: CompareOptions = {},
  ): Promise<EvaluationResource> {
    return this.#submissions.compare(baseline, candidates, suite, options);
  }

  /** Waits for a submitted evaluation, and returns the answer. @throws as `evaluate` does. */
  async wait(id: string, { timeoutSeconds = Infinity, signal, onProgress }: Waiting = {}): Promise<Summary | ComparisonSummary> {
    using deadline = new Deadline(this.#calls.options.clock, 1000 * timeoutSeconds, () => new WaitTimeoutError(id, timeoutSeconds), signal);
    for await (const { type, data } of this.events(id, { signal: deadline.signal })) {
      const figures = type === 'progress' ? runningFiguresSchema.safeParse(data).data : undefined;
      if (figures) onProgress?.(figures);
    }
    return getAnswer(await this.get(id, signal));
  }

  /** Begins a stream of groups of trajectories, which continues even if this process ends. @param agent the file that describes the model. */
  startRollouts(agent: CheckpointLike, suite: SuiteLike, terms: RolloutTerms, how: Submitting = {}): Promise<RolloutsResource> {
    return this.#submissions.startRollouts(agent, suite, terms, how);
  }

  /** Returns one evaluation, with its running figures or its summary. */
  get(id: string, signal?: AbortSignal): Promise<EvaluationResource> {
    return this.#calls.ask(evaluationSchema, { method: 'GET', path: buildEvaluationPath(id), signal });
  }

  /** Returns the answer as a self-contained HTML page for people. @throws RefusedError `report.none` when there is no answer yet. */
  async report(id: string, signal?: AbortSignal): Promise<string> {
    const path = `${buildEvaluationPath(id)}/report`;
    return (await this.#calls.send({ method: 'GET', path, headers: { accept: 'text/html' }, signal })).text;
  }

  /** Plays one episode of an evaluation again, once a sandbox of the server is free. @param arm of a comparison; 0 is the baseline. */
  replay(id: string, { index, arm = 0 }: { readonly index: number; readonly arm?: number }, signal?: AbortSignal): Promise<ReplayDocument> {
    const call = { method: 'POST', path: `${buildEvaluationPath(id)}/replays`, body: { index, arm } } as const;
    return this.#calls.ask(replaySchema, { ...call, signal, answerMilliseconds: SLOW_ANSWER_MILLISECONDS });
  }

  /**
   * Fetches what an agent did in one episode of an evaluation. There are no steps when no agent played. @param arm of a comparison; 0 is the
   * baseline.
   */
  transcript(id: string, { index, arm = 0 }: { readonly index: number; readonly arm?: number }, signal?: AbortSignal): Promise<Transcript> {
    return this.#calls.ask(transcriptSchema, { method: 'GET', path: `${buildEvaluationPath(id)}/transcripts/${index}?arm=${arm}`, signal });
  }

  /** Lists evaluations, latest first, without their summaries; requests the next page when the last one has been consumed. */
  async *list(
    filter: Filter = {},
    { pageSize = 50, signal }: Watched & { readonly pageSize?: number } = {},
  ): AsyncGenerator<EvaluationItem> {
    let after: string | null = null;
    do {
      const path = listPath(filter, pageSize, after);
      const page: z.infer<typeof evaluationPageSchema> = await this.#calls.ask(evaluationPageSchema, { method: 'GET', path, signal });
      yield* page.items;
      after = page.next;
    } while (after !== null);
  }

  /** Streams all events after one, each once, until the evaluation is over, across reconnections. */
  events(id: string, { after = 0, signal = NEVER }: Watched & { readonly after?: number } = {}): AsyncGenerator<FollowedEvent> {
    return streamEvents(this.#calls, id, after, signal);
  }

  /**
   * Yields settled episodes, by index.
   *
   * @param options `first`: index to begin with. `arm`, of a comparison: 0 for the baseline, 1, 2, … for the candidates.
   */
  episodes(
    id: string,
    { first = 0, arm = 0, signal = NEVER }: Watched & { readonly first?: number; readonly arm?: number } = {},
  ): AsyncGenerator<EpisodeLine> {
    return streamEpisodes(this.#calls, id, first, arm, signal);
  }

  /** Changes of all evaluations and pools. @param onLost called when the connection has broken, before it is opened again. */
  live({ signal = NEVER, onLost = () => undefined }: Watched & { readonly onLost?: () => void } = {}): AsyncGenerator<LiveMessage> {
    return streamLive(this.#calls, onLost, signal);
  }

  /** Cancels it. The figures so far are kept, labelled partial. An evaluation that is over stays as it is. */
  cancel(id: string, signal?: AbortSignal): Promise<EvaluationResource> {
    return this.#calls.ask(evaluationSchema, { method: 'DELETE', path: buildEvaluationPath(id), signal });
  }

  /** Uploads a checkpoint that the server does not have. @returns its digest, by which it can be named from now on. */
  upload(path: string, how: Pick<Submitting, 'signal' | 'onUpload' | 'base'> = {}): Promise<Digest> {
    return this.#submissions.upload(path, how);
  }

  /** Lets another principal use a checkpoint that the caller's principal has brought. @param sha256 64 hexadecimal digits. */
  grant(sha256: string, principal: string, signal?: AbortSignal): Promise<Grant> {
    return this.#calls.ask(grantSchema, { method: 'POST', path: buildGrantsPath(sha256), body: { principal }, signal });
  }

  /** @returns the revoked grants: none when there was no such grant. */
  async revokeGrant(sha256: string, principal: string, signal?: AbortSignal): Promise<readonly Grant[]> {
    const path = `${buildGrantsPath(sha256)}/${encodeURIComponent(principal)}`;
    return (await this.#calls.ask(grantListSchema, { method: 'DELETE', path, signal })).items;
  }

  /** Grants that the caller's principal has made; for an operator, all grants. */
  async grants(sha256: string, signal?: AbortSignal): Promise<readonly Grant[]> {
    return (await this.#calls.ask(grantListSchema, { method: 'GET', path: buildGrantsPath(sha256), signal })).items;
  }

  /** Describes a suite that the server has by name. */
  suite(name: string, signal?: AbortSignal): Promise<z.infer<typeof suiteResourceSchema>> {
    return this.#calls.ask(suiteResourceSchema, { method: 'GET', path: `/v1/suites/${encodeURIComponent(name)}`, signal });
  }

  async pools(signal?: AbortSignal): Promise<readonly Pool[]> {
    return (await this.#calls.ask(poolListSchema, { method: 'GET', path: '/v1/pools', signal })).items;
  }

  /**
   * Changes the pool until the server ends. The client does not repeat the request when no answer comes, as another operator may have changed the
   * pool in between.
   */
  changePool(name: string, change: PoolChange, signal?: AbortSignal): Promise<Pool> {
    return this.#calls.askOnce(poolSchema, { method: 'PATCH', path: `/v1/pools/${encodeURIComponent(name)}`, body: change, signal });
  }

  tokens(after?: string, signal?: AbortSignal): Promise<z.infer<typeof tokenPageSchema>> {
    const query = new URLSearchParams({ limit: '200', ...(after === undefined ? {} : { after }) });
    return this.#calls.ask(tokenPageSchema, { method: 'GET', path: `/v1/tokens?${query.toString()}`, signal });
  }

  /** Does not repeat the request when no answer comes, as that would create two tokens. */
  createToken(body: z.input<typeof newTokenSchema>, signal?: AbortSignal): Promise<z.infer<typeof issuedTokenSchema>> {
    return this.#calls.askOnce(issuedTokenSchema, { method: 'POST', path: '/v1/tokens', body, signal });
  }

  revokeToken(id: string, signal?: AbortSignal): Promise<Token> {
    return this.#calls.ask(tokenSchema, { method: 'DELETE', path: `/v1/tokens/${encodeURIComponent(id)}`, signal });
  }

  /** An evaluation whose question was answered before may be over when it is accepted. */
  async #answer(evaluation: EvaluationResource, options: Waiting): Promise<Summary | ComparisonSummary> {
    return isOver(evaluation) ? getAnswer(evaluation) : this.wait(evaluation.id, options);
  }
}

function buildGrantsPath(sha256: string): string {
  return `/v1/checkpoints/${encodeURIComponent(sha256)}/grants`;
}
