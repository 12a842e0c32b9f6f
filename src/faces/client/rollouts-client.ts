import type { z } from 'zod';
import type { DeliveredGroup } from '../../agents/rollouts/streams/delivered-group.ts';
import { InfrastructureError } from '../../kernel/errors.ts';
import {
  acknowledgedSchema,
  groupsSchema,
  type newRolloutsSchema,
  rolloutListSchema,
  rolloutsSchema,
  type RolloutsResource,
  reportedVersionSchema,
} from '../http/schemas/rollout-schemas.ts';
import { SLOW_ANSWER_MILLISECONDS, type Calls } from './calls.ts';

/** How a stream makes its groups. */
export type RolloutTerms = Omit<z.input<typeof newRolloutsSchema>, 'suite' | 'agent'>;

const WAIT_SECONDS = 20;
const LEASE_SECONDS = 600;

/** Streams of groups of trajectories, for a training. Throws as `MusterClient` does. */
export class RolloutsClient {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /** Does not repeat the request when no answer comes, as that would begin two streams. */
  begin(body: z.input<typeof newRolloutsSchema>, signal?: AbortSignal): Promise<RolloutsResource> {
    const call = { method: 'POST', path: '/v1/rollouts', body, signal, answerMilliseconds: SLOW_ANSWER_MILLISECONDS } as const;
    return this.#calls.askOnce(rolloutsSchema, call);
  }

  /**
   * Yields the groups of a stream until it is over, including those that an earlier trainer has not acknowledged. Each is acknowledged when the next
   * one is requested.
   *
   * @param leaseSeconds after which an unacknowledged group is delivered again. @throws InfrastructureError `rollouts.lease-lost` when another
   * trainer may have the group by now, `rollouts.failed` when the stream has failed.
   */
  async *groups(stream: string, leaseSeconds = LEASE_SECONDS, signal?: AbortSignal): AsyncGenerator<DeliveredGroup> {
    const path = `${buildPath(stream)}/groups?wait=${WAIT_SECONDS}&lease=${leaseSeconds}`;
    const call = { method: 'GET', path, signal, answerMilliseconds: 3000 * WAIT_SECONDS } as const;
    for (;;) {
      const { items, state, problem } = await this.#calls.ask(groupsSchema, call);
      for (const group of items) {
        yield group;
        await this.#acknowledgeOwn(stream, group, signal);
      }
      // Without a message, a training that gets no groups seems to hang.
      if (items.length === 0 && state === 'running') this.#calls.options.warn(describeWait(await this.get(stream, signal)));
      if (items.length > 0 || state === 'running') continue;
      if (state === 'failed')
        throw new InfrastructureError('rollouts.failed', `stream ${stream} has failed: ${problem ?? 'without a reason'}`);
      return;
    }
  }

  /** Safe to repeat. @returns the result for each, in order. */
  async acknowledge(
    stream: string,
    groups: readonly Pick<DeliveredGroup, 'group' | 'lease'>[],
    signal?: AbortSignal,
  ): Promise<z.infer<typeof acknowledgedSchema>['items']> {
    const body = { groups: groups.map(({ group, lease }) => ({ group, lease })) };
    return (await this.#calls.ask(acknowledgedSchema, { method: 'POST', path: `${buildPath(stream)}/ack`, body, signal })).items;
  }

  get(stream: string, signal?: AbortSignal): Promise<RolloutsResource> {
    return this.#calls.ask(rolloutsSchema, { method: 'GET', path: buildPath(stream), signal });
  }

  /** Lists the latest first. */
  async list(limit = 50, signal?: AbortSignal): Promise<readonly RolloutsResource[]> {
    return (await this.#calls.ask(rolloutListSchema, { method: 'GET', path: `/v1/rollouts?limit=${limit}`, signal })).items;
  }

  /** Cancels a stream; one that is over stays as it is. */
  cancel(stream: string, signal?: AbortSignal): Promise<RolloutsResource> {
    return this.#calls.ask(rolloutsSchema, { method: 'DELETE', path: buildPath(stream), signal });
  }

  /** Reports a new version of a policy. @param endpoint name of the server's endpoint that has it from now on. */
  reportVersion(policy: string, version: number, endpoint?: string, signal?: AbortSignal): Promise<z.infer<typeof reportedVersionSchema>> {
    const path = `/v1/policies/${encodeURIComponent(policy)}/versions`;
    return this.#calls.ask(reportedVersionSchema, { method: 'POST', path, body: { version, endpoint }, signal });
  }

  async #acknowledgeOwn(stream: string, group: DeliveredGroup, signal: AbortSignal | undefined): Promise<void> {
    const [answer] = await this.acknowledge(stream, [group], signal);
    if (answer?.result === 'acknowledged' || answer?.result === 'repeated') return;
    const why = 'its lease ended before it was acknowledged, and another trainer may have it; request a longer lease';
    throw new InfrastructureError('rollouts.lease-lost', `${group.group}: ${why}`);
  }
}

/** What a stream has done, and what helps. */
function describeWait({ id, policy, problem, groups: { begun, filtered, stale, acknowledged } }: RolloutsResource): string {
  return [
    `${id}: no group for ${WAIT_SECONDS} s`,
    `${begun} begun, ${filtered} filtered, ${stale} stale, ${acknowledged} acknowledged`,
    ...(filtered > begun / 2 ? ['the rewards of a filtered group were all the same, so it has no signal: keepFiltered delivers it'] : []),
    ...(begun - filtered - stale === acknowledged ? [`no other group begins before the next reportVersion('${policy}', …)`] : []),
    ...(problem === null ? [] : [problem]),
  ].join('; ');
}

function buildPath(stream: string): string {
  return `/v1/rollouts/${encodeURIComponent(stream)}`;
}
