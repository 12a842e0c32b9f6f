import { randomBytes } from 'node:crypto';
import type { SqlStore } from '../../adapters/store/sql/sql-evaluation-store.ts';
import { hasModel } from '../../agents/acting/agent.ts';
import type { ModelAgent, ProgramAgent, ServedModel } from '../../agents/acting/model/model-agent.ts';
import { ResumedEndpoint } from '../../agents/acting/model/resumed-endpoint.ts';
import type { StoredTurns } from '../../agents/acting/model/stored-turns.ts';
import { VersionedEndpoint } from '../../agents/acting/model/versioned-endpoint.ts';
import { deriveMemberSeed } from '../../agents/rollouts/streams/member-result.ts';
import { nameMember, parseStreamId } from '../../agents/rollouts/streams/stream-ids.ts';
import { systemClock } from '../../kernel/clock.ts';
import { InputError } from '../../kernel/errors.ts';
import { parseOwnerId } from '../../kernel/ids.ts';
import { isPlayedByAgents } from '../../orchestrator/suite/agent-tasks.ts';
import { createEpisodePlanner } from '../../orchestrator/suite/suite-definition.ts';
import type { CheckpointSource } from '../../policy-distribution/checkpoint-source.ts';
import type { PlannedEpisode } from '../../runner/playlist.ts';
import type { Quota } from '../../service/access/quota.ts';
import type { Library } from '../../service/orders/library.ts';
import { readOrderedSuite } from '../../service/orders/ordered-suite.ts';
import type { RolloutOrder } from '../../service/rollouts/rollout-order.ts';
import type {
  GroupTask,
  MemberIdentity,
  OpenRollout,
  PlayedMember,
  PlayTerms,
  RolloutPlayer,
} from '../../service/rollouts/rollout-player.ts';
import { RolloutService } from '../../service/rollouts/rollout-service.ts';
import type { AgentEpisodes } from '../grading/agent-episodes.ts';
import type { ModelServers } from '../grading/model-servers.ts';
import type { Runtime } from '../runtime.ts';
import { OrderedContents } from './ordered-contents.ts';
import { createTimedId } from './timed-id.ts';

/** Creates the service for streams of groups on this server. Part of the composition root. */
export function createRolloutService(
  runtime: Runtime,
  store: SqlStore,
  {
    source,
    library,
    quotaOf,
  }: { readonly source: CheckpointSource; readonly library: Library; readonly quotaOf: (principal: string) => Quota },
): RolloutService {
  return new RolloutService({
    streams: store.rollouts,
    player: new StreamPlayer(runtime, source, store.turns),
    turns: store.turns,
    library,
    audit: store.audit,
    clock: systemClock,
    log: runtime.log,
    holder: parseOwnerId(`rollouts-${process.pid}-${randomBytes(4).toString('hex')}`),
    holdMilliseconds: runtime.config.server.ownershipSeconds * 1000,
    openEpisodes: (principal) => quotaOf(principal).openEpisodes,
    countOpen: (principal) => store.trajectories.countOpen(principal),
    assertEndpoint: (name) => runtime.models.assertNamed(name),
    newId: () => parseStreamId(createTimedId('ro')),
    retentionDays: () => runtime.config.server.retentionDays,
  });
}

class StreamPlayer implements RolloutPlayer {
  readonly #runtime: Runtime;
  readonly #contents: OrderedContents;
  readonly #turns: StoredTurns;

  constructor(runtime: Runtime, source: CheckpointSource, turns: StoredTurns) {
    this.#runtime = runtime;
    this.#turns = turns;
    this.#contents = new OrderedContents(runtime, source);
  }

  async open(order: RolloutOrder, signal: AbortSignal): Promise<OpenRollout> {
    const suite = readOrderedSuite(order);
    if (!isPlayedByAgents(suite))
      throw new InputError('rollouts.suite', `suite: ${suite.name} has environments for policies; expected a suite with tasks for agents`);
    const suiteFiles = order.suiteFiles && (await this.#contents.openSuiteFiles(order.suiteFiles, signal));
    const agent = await this.#contents.openCheckpoint(order.agent, signal);
    await using opening = new AsyncDisposableStack();
    opening.use(await this.#runtime.hold([agent, suiteFiles]));
    const episodes = await this.#runtime.openAgentEpisodes({ suite, suiteFiles, checkpoints: [agent] });
    const model = assertTrainable(episodes, agent.digest);
    const held = opening.move();
    return new OpenedRollout({
      episodes,
      model,
      digest: agent.digest,
      plan: createEpisodePlanner(suite),
      models: this.#runtime.models,
      turns: this.#turns,
      held,
    });
  }
}

interface OpenedParts {
  readonly episodes: AgentEpisodes;
  readonly model: ModelAgent | ProgramAgent;
  readonly digest: string;
  readonly plan: (index: number) => PlannedEpisode;
  readonly models: ModelServers;
  readonly turns: StoredTurns;
  readonly held: AsyncDisposable;
}

/** A stream whose groups have the task and the seed of the episode with the group's number. */
class OpenedRollout implements OpenRollout {
  readonly #parts: OpenedParts;
  /** The model that got the latest turn. */
  #served: ServedModel;
  readonly #tasks = new Map<number, { readonly id: string; readonly digest: string }>();

  constructor(parts: OpenedParts) {
    this.#parts = parts;
    this.#served = parts.model;
  }

  get model(): string {
    return this.#parts.model.model;
  }

  get problem(): string | undefined {
    return this.#parts.models.getProblem(this.#served);
  }

  async group(number: number): Promise<GroupTask> {
    const { task, environmentSeed } = this.#parts.plan(number);
    const known = this.#tasks.get(task) ?? (await this.#parts.episodes.getTask(task)).task;
    this.#tasks.set(task, { id: known.id, digest: known.digest });
    return { task: known.id, taskDigest: known.digest, taskSeed: environmentSeed };
  }

  async play({ group, number, rep }: MemberIdentity, { version, onActed }: PlayTerms, signal: AbortSignal): Promise<PlayedMember> {
    const { episodes, model, digest, plan, models, turns } = this.#parts;
    const episode = plan(number);
    const trajectory = nameMember(group, rep);
    const versioned = new VersionedEndpoint(version, (name) => {
      this.#served = name === undefined ? model : { ...model, endpoint: name, keyVariable: undefined };
      return models.getEndpoint(this.#served);
    });
    await using endpoint = new ResumedEndpoint(versioned, turns, trajectory);
    const identity = { trajectory, group, rep };
    const planned = { ...episode, policySeed: deriveMemberSeed(episode.policySeed, rep) };
    const { outcome, trajectories } = await episodes.playAt(digest, planned, { identity, endpoint, onActed }, signal);
    await endpoint.settle();
    const [played, ...others] = trajectories;
    if (others.length > 0)
      throw new InputError('rollouts.steps', `task ${played?.task} has several steps; expected one: groups need tasks of one step`);
    if (played !== undefined && outcome.kind !== 'lost') return { kind: 'played', trajectory: played };
    return { kind: 'lost', detail: outcome.kind === 'lost' ? outcome.detail : 'no model has acted' };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.held[Symbol.asyncDispose]();
  }
}

/** @throws InputError `rollouts.agent` */
function assertTrainable(episodes: AgentEpisodes, digest: string): ModelAgent | ProgramAgent {
  const agent = episodes.getAgent(digest);
  const expected =
    'a training needs the token ids of a model: expected "agent: model" or "agent: program" with "tokenIds: vllm" or "tokenIds: sglang"';
  if (!hasModel(agent)) throw new InputError('rollouts.agent', `agent: ${expected}; got "agent: ${agent.agent}"`);
  if (agent.tokenIds === 'none') throw new InputError('rollouts.agent', `agent: ${expected}; got "tokenIds: none"`);
  return agent;
}
