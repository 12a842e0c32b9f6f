import { markup, type Markup } from '../text/markup.ts';
import { formatPercent, computeDomain, labelEvery, isPresent, createAcrossScale, listTicks, WIDTH, type Scale } from './plot.ts';

/**
 * A value with its interval as a dot on a line, small enough for a table's cell: the rows of a column share one scale, and the column's head has its
 * ticks. The figures are in the same row, so the picture has no text of its own.
 */
export interface Strip {
  readonly value: number | null;
  readonly low: number | null;
  readonly high: number | null;
}

/** @param references further values that have to be in the picture. */
export function createStripScale(strips: readonly Strip[], references: readonly (number | null)[] = []): Scale | undefined {
  const extent = computeDomain([...strips.flatMap(({ value, low, high }) => [value, low, high]), ...references].filter(isPresent));
  return extent && createAcrossScale(extent);
}

/** Characters along the narrowest column. */
const ROOM = 22;

export function renderStripHead(scale: Scale): Markup {
  const ticks = listTicks({ scale }, 3);
  const every = labelEvery(ticks, ROOM);
  return markup`<svg class="strip-head" height="20" aria-hidden="true">${ticks.map(({ value, text }, position) => {
    const x = formatPercent(scale, value);
    const anchor = chooseAnchor(scale(value) / WIDTH);
    return markup`${position % every === 0 ? markup`<text x="${x}" y="11" text-anchor="${anchor}">${text}</text>` : undefined}<line class="tick" x1="${x}" x2="${x}" y1="15" y2="20"/>`;
  })}</svg>`;
}

/** Labels at the ends must not reach into the neighbouring columns. */
function chooseAnchor(share: number): 'start' | 'middle' | 'end' {
  if (share < 0.2) return 'start';
  return share > 0.8 ? 'end' : 'middle';
}

/** @param reference drawn as a line through all rows. */
export function renderStripCell({ value, low, high }: Strip, scale: Scale, reference?: number | null): Markup {
  const parts = [
    isPresent(reference)
      ? markup`<line class="level" x1="${formatPercent(scale, reference)}" x2="${formatPercent(scale, reference)}" y2="100%"/>`
      : undefined,
    isPresent(low) && isPresent(high)
      ? markup`<line class="whisker" x1="${formatPercent(scale, low)}" x2="${formatPercent(scale, high)}" y1="50%" y2="50%"/>`
      : undefined,
    isPresent(value) ? markup`<circle class="end" cx="${formatPercent(scale, value)}" cy="50%" r="4"/>` : undefined,
  ];
  return markup`<svg class="strip-row" aria-hidden="true">${parts}</svg>`;
}
