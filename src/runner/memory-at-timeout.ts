import type { Outcome } from '../kernel/outcome.ts';
import { formatBytes } from '../kernel/text/figures.ts';
import type { Sandbox } from '../pool/ports/sandbox.ts';

/** Less than this share of the limit explains no slowness. */
const MENTIONED_FROM = 0.25;

/**
 * The outcome with the memory that the sandbox had used, where that was much: an environment that fills its memory in small parts takes longer for
 * it than an episode may.
 */
export async function tellMemory(outcome: Outcome, { capabilities }: Pick<Sandbox, 'capabilities'>, limitBytes: number): Promise<Outcome> {
  // That the figures cannot be read changes nothing about the outcome.
  const used = (await capabilities?.usage?.().catch(() => undefined))?.peakMemoryBytes;
  if (outcome.kind !== 'failed' || used === undefined || used < limitBytes * MENTIONED_FROM) return outcome;
  const detail = `${outcome.detail}; its sandbox had used ${formatBytes(used)} of memory by then, and may use ${formatBytes(limitBytes)}`;
  return { ...outcome, detail };
}
