import type { ReplayDocument } from './replay-document.ts';

/** Formats `return 483.5 after 500 steps`, or how the episode failed. Returns are written in full, so that a difference shows. */
export function formatOutcome(outcome: ReplayDocument['recorded']): string {
  switch (outcome.kind) {
    case 'completed': {
      const metrics = Object.entries(outcome.metrics).map(([name, value]) => `, ${name} ${value}`);
      return `return ${outcome.return} after ${outcome.length} ${outcome.length === 1 ? 'step' : 'steps'}${metrics.join('')}`;
    }
    case 'failed':
      return `failed (${outcome.cause}): ${outcome.detail}`;
    case 'lost':
      return `lost: ${outcome.detail}`;
  }
}
