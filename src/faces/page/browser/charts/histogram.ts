import { html, svg, type TemplateResult } from 'lit-html';
import { formatCount } from '../../../../kernel/text/figures.ts';

export interface Bins {
  /** Ascending, one more than there are counts. */
  readonly edges: readonly number[];
  readonly counts: readonly number[];
  /** The lowest and the highest return, beyond which no bar extends. */
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  readonly format: (value: number) => string;
}

/** Units of the picture, which is stretched to its place. */
const [WIDTH, HEIGHT] = [400, 100];
/** The least height of a bar, so that a few episodes remain visible beside many. */
const LOWEST = 1.5;
const ONLY_BAR = 16;

/** Renders how often each value came, with the mean as a line. Bins need not be equally wide: the area of a bar is its count. */
export function renderHistogram({ edges, counts, min, max, mean, format }: Bins): TemplateResult {
  const bins = counts.map((count, at) => {
    const [low = min, high = max] = edges.slice(at);
    return { count, low, high, from: Math.max(low, min), to: Math.min(high, max), density: count / (high - low || 1) };
  });
  const most = Math.max(...bins.map(({ density }) => density));
  const tallest = bins.find(({ density }) => density === most);
  const across = (value: number): number => (max > min ? ((value - min) / (max - min)) * WIDTH : WIDTH / 2);
  const [lowest = min, highest = max] = [edges[0], edges.at(-1)];
  // All bars lie within the picture, instead of the outermost ones being cut: bins of one width have bars of one width.
  const place = (edge: number): number => ((edge - lowest) / (highest - lowest || 1)) * WIDTH;
  const words = `Histogram of returns from ${format(min)} to ${format(max)}, most of them between ${format(tallest?.from ?? min)} and ${format(tallest?.to ?? max)}.`;
  return html`<svg class="histogram" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label=${words}>
      ${bins.map(({ count, low, high, from, to, density }) => {
        const width = max > min ? place(high) - place(low) : ONLY_BAR;
        const height = count === 0 ? 0 : Math.max(LOWEST, (density / most) * HEIGHT);
        const left = max > min ? place(low) : (WIDTH - ONLY_BAR) / 2;
        return svg`<rect class="count" x=${left} y=${HEIGHT - height} width=${width} height=${height}><title>${formatCount(count)} from ${format(from)} to ${format(to)}</title></rect>`;
      })}
      ${svg`<line class="mean" x1=${across(mean)} x2=${across(mean)} y1="0" y2=${HEIGHT} />`}
    </svg>
    <p class="ends muted"><span>${format(min)}</span><span>${format(max)}</span></p>`;
}
