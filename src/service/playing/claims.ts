import type { Claimable } from '../../evaluation-store/ownership.ts';
import type { EvaluationId } from '../../kernel/ids.ts';

export interface ClaimsState {
  /** Evaluations that this process plays at a time. */
  readonly slots: number;
  /** Evaluations that it plays now. */
  readonly active: readonly Urgency[];
  /** Claimable evaluations by principal, in order of falling priority, then of age. */
  readonly claimable: readonly Claimable[];
}

type Urgency = Pick<Claimable, 'principal' | 'priority'>;

/** The number of evaluations never exceeds the slots this many times, however urgent they are. */
const MOST_OVER = 2;

/**
 * Chooses which evaluations to begin. Pure.
 *
 * The principal that plays least comes first. When all slots are taken, an evaluation begins all the same if it is more urgent than everything that
 * its principal plays (a principal that plays nothing has nothing as urgent): so a batch of thousands delays neither other callers nor its own
 * caller's urgent evaluation. All evaluations that have begun share the sandboxes, so this only costs memory.
 */
export function planClaims({ slots, active, claimable }: ClaimsState): readonly EvaluationId[] {
  const playing = [...active];
  const chosen: EvaluationId[] = [];
  const queues = Map.groupBy(claimable, ({ principal }) => principal);
  for (const evaluation of takeInTurn(queues, playing)) {
    if (playing.length >= MOST_OVER * slots) break;
    if (playing.length >= slots && playing.some((other) => isAsUrgent(other, evaluation))) {
      queues.delete(evaluation.principal);
      continue;
    }
    queues.get(evaluation.principal)?.shift();
    playing.push(evaluation);
    chosen.push(evaluation.id);
  }
  return chosen;
}

/** Takes the first of the principal that plays least, again and again. */
function* takeInTurn(queues: Map<string, Claimable[]>, playing: readonly Urgency[]): Generator<Claimable> {
  while (true) {
    let next: Claimable | undefined;
    let least = Infinity;
    for (const [principal, [first]] of queues) {
      const count = playing.filter((other) => other.principal === principal).length;
      if (first === undefined || count > least || (count === least && next && first.priority <= next.priority)) continue;
      next = first;
      least = count;
    }
    if (next === undefined) return;
    yield next;
  }
}

function isAsUrgent(other: Urgency, than: Urgency): boolean {
  return other.principal === than.principal && other.priority >= than.priority;
}
