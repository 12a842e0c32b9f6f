import type { Outcome } from '../kernel/outcome.ts';
import { formatBytes } from '../kernel/text/figures.ts';
import type { Sandbox } from '../pool/ports/sandbox.ts';

/** A smaller share of the limit explains no slowness. */
const MENTIONED_FROM = 0.25;

interface Cause {
  readonly reason: string;
  readonly outcome: Outcome;
}

/** Says why a sandbox was silent until a time limit passed. @param outcome where the program has caused it. */
export async function explainLateness(
  reason: string,
  outcome: Outcome,
  sandbox: Pick<Sandbox, 'capabilities'>,
  limitBytes: number,
): Promise<Cause> {
  const unreachable = 'its sandbox was out of reach when the time limit passed';
  if ((await sandbox.capabilities?.isReachable?.()) === false)
    return { reason: unreachable, outcome: { kind: 'lost', detail: unreachable } };
  return { reason, outcome: await tellMemory(outcome, sandbox, limitBytes) };
}

/**
 * Adds the memory that the sandbox had used to the outcome, if it was much: an environment that fills its memory in small parts can exceed
 * the time limit first.
 */
async function tellMemory(outcome: Outcome, { capabilities }: Pick<Sandbox, 'capabilities'>, limitBytes: number): Promise<Outcome> {
  // Unreadable figures do not change the outcome.
  const used = (await capabilities?.usage?.().catch(() => undefined))?.peakMemoryBytes;
  if (outcome.kind !== 'failed' || used === undefined || used < limitBytes * MENTIONED_FROM) return outcome;
  const detail = `${outcome.detail}; its sandbox had used ${formatBytes(used)} of memory by then, and may use ${formatBytes(limitBytes)}`;
  return { ...outcome, detail };
}
