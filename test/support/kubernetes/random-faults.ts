import type { Disaster } from './simulated-pods.ts';
import type { SimulatedRequest, Fault, FaultPlan } from './faults.ts';

const CALL_FAULTS: readonly Fault[] = [
  { kind: 'status', code: 429, retryAfterSeconds: 1 },
  { kind: 'status', code: 429 },
  { kind: 'status', code: 500 },
  { kind: 'status', code: 503, afterwards: true },
  { kind: 'status', code: 409, afterwards: true },
  { kind: 'drop' },
  { kind: 'drop', afterwards: true },
  { kind: 'delay', milliseconds: 30 },
];
const WATCH_FAULTS: readonly Fault[] = [
  { kind: 'status', code: 410 },
  { kind: 'status', code: 429, retryAfterSeconds: 1 },
  { kind: 'status', code: 500 },
  { kind: 'drop', after: 2 },
  { kind: 'silence' },
  { kind: 'half-frame' },
  { kind: 'reorder' },
  { kind: 'delay', milliseconds: 20 },
];
const EXEC_FAULTS: readonly Fault[] = [
  { kind: 'status', code: 500 },
  { kind: 'drop', after: 1 },
  { kind: 'drop', after: 5 },
  { kind: 'silence' },
  { kind: 'delay', milliseconds: 30 },
];
const DISASTERS: readonly Disaster[] = ['evicted', 'preempted', 'container-killed', 'deleted'];

/** What one request meets, if the dice say so. Refusals that are not repeated are not among it: those end an evaluation, as they should. */
export function randomFaults(random: () => number, share: number): FaultPlan {
  return ({ kind, method, path }: SimulatedRequest) => {
    if (random() >= share) return undefined;
    const faults = kind === 'call' ? CALL_FAULTS : kind === 'watch' ? WATCH_FAULTS : EXEC_FAULTS;
    const fault = pick(faults, random);
    // Only the creation of a pod or a claim can meet what it has made before.
    const isCreation = method === 'POST' && /\/(pods|sandboxclaims)$/.test(path);
    return fault.kind === 'status' && fault.code === 409 && !isCreation ? undefined : fault;
  };
}

export function randomDisaster(random: () => number): Disaster {
  return pick(DISASTERS, random);
}

function pick<Item>(items: readonly Item[], random: () => number): Item {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error('nothing to pick from');
  return item;
}
