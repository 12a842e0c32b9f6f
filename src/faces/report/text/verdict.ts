import type { Verdict } from '../../../aggregation/comparison/comparison-statistics.ts';
import { markup, type Markup } from './markup.ts';

/** Renders a verdict as word, symbol and colour together. */
export function renderVerdictBadge(verdict: Verdict): Markup {
  return markup`<span class="verdict ${verdict}"><svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true"><path d="${SYMBOLS[verdict]}"/></svg>${verdict}</span>`;
}

/** An arrow up, an arrow down, an equals sign, a question mark. */
const SYMBOLS: Readonly<Record<Verdict, string>> = {
  promote: 'M12 20V5M5 12l7-7 7 7',
  regress: 'M12 4v15M5 12l7 7 7-7',
  equivalent: 'M5 9h14M5 15h14',
  inconclusive: 'M8 9a4 4 0 1 1 5.5 3.7c-1 .4-1.5 1-1.5 2.3M12 20h0',
};

/** @param margin in units of the return. */
export function formatVerdict(verdict: Verdict, margin: number): string {
  const by = margin > 0 ? ` by more than ${margin}` : '';
  switch (verdict) {
    case 'promote':
      return `The candidate is better than the baseline${by}.`;
    case 'regress':
      return `The candidate is worse than the baseline${by}.`;
    case 'equivalent':
      return `The candidate and the baseline differ by at most ${margin}.`;
    case 'inconclusive':
      return 'By the end, nothing was shown in either direction.';
  }
}
