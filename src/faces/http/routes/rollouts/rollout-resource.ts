import type { StoredStream } from '../../../../agents/rollouts/streams/rollout-streams.ts';
import { nameGroup } from '../../../../agents/rollouts/streams/stream-ids.ts';
import { readRolloutOrder } from '../../../../service/rollouts/rollout-order.ts';
import type { StreamBoard } from '../../../../service/rollouts/stream-board.ts';
import type { BoardResource, RolloutsResource } from '../../schemas/rollout-schemas.ts';

export function toRolloutsResource(stream: StoredStream): RolloutsResource {
  const { id, principal, policy, terms, state, problem = null, createdAt, endedAt, counts } = stream;
  const order = readRolloutOrder(stream);
  return {
    id,
    principal,
    suite: order.suite.name,
    agent: order.agent.digest,
    policy,
    terms: { ...terms },
    state,
    problem,
    createdAt: createdAt.toISOString(),
    endedAt: endedAt?.toISOString() ?? null,
    groups: { ...counts },
  };
}

export function toBoardResource({ stream, versions, capacity, groups }: StreamBoard): BoardResource {
  return {
    stream: toRolloutsResource(stream),
    versions,
    capacity: { ...capacity },
    groups: groups.map(({ listed: { number, state, wanted, ended, head, lease, leasedUntil }, staleness }) => ({
      group: nameGroup(stream.id, number),
      number,
      state,
      task: head?.task ?? null,
      wanted,
      members: Array.from(ended, ([rep, result]) => ({ rep, ...result })),
      mean: head?.mean ?? null,
      advantages: [...(head?.advantages ?? [])],
      versions: head?.versions ?? null,
      staleness,
      leases: lease,
      leasedUntil: leasedUntil?.toISOString() ?? null,
    })),
  };
}
