import { formatCount, formatDuration, formatFigure } from '../../../kernel/text/figures.ts';
import { markup, type Markup } from './markup.ts';

/**
 * Renders a number on the page. It is rounded as its uncertainty allows, and carries its exact value; `source` is its path in the document, such as
 * `official.tasks.3.mean`, so that a program can compare the page with the document.
 */
export function renderData(value: number, text: string, source?: string): Markup {
  if (source === undefined) return markup`<data value="${value}">${text}</data>`;
  return markup`<data value="${value}" data-source="${source}">${text}</data>`;
}

/** Stands where a figure does not exist. */
export const NONE = markup`<span class="none">–</span>`;

/** @param spread how uncertain the value is, in its own units: decides the decimals. */
export function renderFigure(value: number | null | undefined, spread: number, source?: string): Markup {
  return value === null || value === undefined ? NONE : renderData(value, formatFigure(value, spread), source);
}

/** Renders a value that is a measure of spread itself. */
export function renderSpreadFigure(value: number | null | undefined, source?: string): Markup {
  return renderFigure(value, value ?? 0, source);
}

export function count(value: number, source?: string): Markup {
  return renderData(value, formatCount(value), source);
}

export interface Ends {
  readonly low: number;
  readonly high: number;
}

/** Renders `[0.2625, 0.2823]`. */
export function renderEnds({ low, high }: Ends, spread: number, source?: string): Markup {
  const of = (end: keyof Ends): string | undefined => (source === undefined ? undefined : `${source}.${end}`);
  return markup`<span class="ends">[${renderFigure(low, spread, of('low'))}, ${renderFigure(high, spread, of('high'))}]</span>`;
}

/** Formats `95 %` or `99.9 %`. */
export function formatPercentage(share: number, digits = 6): string {
  return `${Number((share * 100).toPrecision(digits))} %`;
}

/** Renders a share, with at most two decimals of its percentage. A share above 0 is never shown as 0 %, and one below 1 never as 100 %. */
export function renderShare(value: number, source?: string): Markup {
  const percent = Number((value * 100).toFixed(2));
  if (percent === 0 && value > 0) return renderData(value, 'below 0.01 %', source);
  if (percent === 100 && value < 1) return renderData(value, 'above 99.99 %', source);
  return renderData(value, `${percent} %`, source);
}

/** Renders seconds, also small fractions for parts of an episode. */
export function renderDuration(seconds: number, source?: string): Markup {
  const text = seconds > 0 && seconds < 1 ? `${formatFigure(seconds * 1000, seconds * 1000)} ms` : formatDuration(seconds);
  return renderData(seconds, text, source);
}

/** Formats `1 episode` or `1,234 episodes`. */
export function formatQuantity(value: number, noun: string): string {
  return value === 1 ? `1 ${noun}` : `${formatCount(value)} ${noun}s`;
}

/** Computes the spread by which a value is rounded, with an interval or without one. */
export function computeSpread(interval: Ends | null | undefined, value: number | null): number {
  return interval ? (interval.high - interval.low) / 2 : Math.abs(value ?? 1);
}
