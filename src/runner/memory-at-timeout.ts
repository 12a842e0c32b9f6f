import type { Outcome } from '../kernel/outcome.ts';
import { formatBytes } from '../kernel/text/figures.ts';
import type { Sandbox } from '../pool/ports/sandbox.ts';

/** A smaller share of the limit explains no slowness. */
const MENTIONED_FROM = 0.25;

/**
 * Adds the memory that the sandbox had used to the outcome, if it was much: an environment that fills its memory in small parts can exceed
 * the time limit first.
 */
export async function tellMemory(outcome: Outcome, { capabilities }: Pick<Sandbox, 'capabilities'>, limitBytes: number): Promise<Outcome> {
  // Unreadable figures do not change the outcome.
  const used = (await capabilities?.usage?.().catch(() => undefined))?.peakMemoryBytes;
  if (outcome.kind !== 'failed' || used === undefined || used < limitBytes * MENTIONED_FROM) return outcome;
  const detail = `${outcome.detail}; its sandbox had used ${formatBytes(used)} of memory by then, and may use ${formatBytes(limitBytes)}`;
  return { ...outcome, detail };
}
