import type { Trial } from '../../../agents/grading/soundness.ts';
import type { Ending } from '../../../agents/verification/evidence.ts';
import type { StageOutcome } from '../../../agents/verification/verdict.ts';
import { markup, type Markup } from '../text/markup.ts';
type Tone = 'promote' | 'regress' | 'inconclusive' | 'equivalent';

/** A tick, a cross, a question mark, a dash. */
const SYMBOLS: Readonly<Record<Tone, string>> = {
  promote: 'M5 13l5 5L19 7',
  regress: 'M6 6l12 12M18 6L6 18',
  inconclusive: 'M8 9a4 4 0 1 1 5.5 3.7c-1 .4-1.5 1-1.5 2.3M12 20h0',
  equivalent: 'M6 12h12',
};

/** Renders a finding as word, symbol and colour together. */
function renderBadge(tone: Tone, text: string): Markup {
  return markup`<span class="verdict ${tone}"><svg viewBox="0 0 24 24" width="16" height="16" aria-hidden="true"><path d="${SYMBOLS[tone]}"/></svg>${text}</span>`;
}

export function renderStageBadge(outcome: StageOutcome['outcome']): Markup {
  switch (outcome) {
    case 'passed':
      return renderBadge('promote', outcome);
    case 'failed':
      return renderBadge('regress', outcome);
    case 'infrastructure':
      return renderBadge('inconclusive', outcome);
    case 'not-run':
      return renderBadge('equivalent', 'not run');
  }
}

export function renderFindingBadge(finding: Trial['finding']): Markup {
  switch (finding) {
    case 'as-expected':
      return renderBadge('promote', 'as expected');
    case 'wrong':
    case 'flaky':
      return renderBadge('regress', finding);
    case 'unknown':
      return renderBadge('inconclusive', finding);
  }
}

export function renderSoundBadge(isSound: boolean): Markup {
  return isSound ? renderBadge('promote', 'sound') : renderBadge('regress', 'not sound');
}

export function renderEqualityBadge(isEqual: boolean): Markup {
  return isEqual ? renderBadge('promote', 'equal') : renderBadge('regress', 'differs');
}

/** Formats how a process ended, in a few words. */
export function formatCommandEnding(ending: Ending): string {
  switch (ending.kind) {
    case 'exited':
      return `status ${ending.code}`;
    case 'signal':
      return `ended by ${ending.signal}`;
    case 'timeout':
      return 'out of time';
    case 'out-of-memory':
      return 'out of memory';
    case 'output-too-large':
      return 'printed too much';
    case 'no-output':
      return ending.detail;
  }
}
