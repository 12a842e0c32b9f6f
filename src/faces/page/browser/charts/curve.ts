import { html, type TemplateResult } from 'lit-html';
import { ref } from 'lit-html/directives/ref.js';
import uPlot from 'uplot';

/** A curve with a band around it, drawn on a canvas. All lists are as long as `x`. */
export interface Curve {
  readonly title: string;
  readonly xLabel: string;
  readonly x: readonly number[];
  /** What the curve is of; the mean when left out. */
  readonly label?: string;
  readonly mean: readonly (number | null)[];
  /** Left out where there is no band. */
  readonly band?: { readonly low: readonly (number | null)[]; readonly high: readonly (number | null)[] };
  /** Further curves of the same scale. */
  readonly more?: readonly { readonly label: string; readonly values: readonly (number | null)[] }[];
  /** Values with a line across. */
  readonly levels?: readonly number[];
  /** What it shows, in words. */
  readonly alternative: string;
}

const HEIGHT = 300;

interface Drawn {
  readonly plot: uPlot;
  readonly resize: ResizeObserver;
  readonly curve: Curve;
}

const drawn = new Map<HTMLElement, Drawn>();

// Marks of a legend keep the colour that they were made with.
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  for (const [element, { curve }] of Array.from(drawn)) {
    forget(element);
    draw(element, curve);
  }
});

/** The same canvas is kept while the curve grows. */
export function renderCurve(curve: Curve): TemplateResult {
  return html`<figure class="curve">
    <figcaption>${curve.title}</figcaption>
    <div class="canvas" role="img" aria-label=${curve.alternative} ${ref((element) => element && draw(element, curve))}></div>
  </figure>`;
}

function draw(element: Element, curve: Curve): void {
  if (!(element instanceof HTMLElement)) return;
  const before = drawn.get(element);
  if (before?.curve === curve) return;
  const data = toAlignedData(curve);
  if (before) {
    before.plot.setData(data);
    drawn.set(element, { ...before, curve });
    return;
  }
  const plot = new uPlot(getOptions(curve, element.clientWidth || 600), data, element);
  const resize = new ResizeObserver(() => {
    if (element.isConnected) plot.setSize({ width: element.clientWidth, height: HEIGHT });
    else forget(element);
  });
  resize.observe(element);
  drawn.set(element, { plot, resize, curve });
}

function forget(element: HTMLElement): void {
  const { plot, resize } = drawn.get(element) ?? {};
  resize?.disconnect();
  plot?.destroy();
  drawn.delete(element);
}

function toAlignedData({ x, mean, band, more = [] }: Curve): uPlot.AlignedData {
  const edges = band ? [[...band.low], [...band.high]] : [];
  return [[...x], [...mean], ...edges, ...more.map(({ values }) => [...values])];
}

function getOptions({ xLabel, label = 'mean', band, more = [], levels = [] }: Curve, width: number): uPlot.Options {
  const axis = {
    stroke: () => readColour('--muted'),
    grid: { stroke: () => readColour('--grid') },
    ticks: { stroke: () => readColour('--line') },
  };
  const edge = { stroke: () => readColour('--area'), points: { show: false } };
  return {
    width,
    height: HEIGHT,
    scales: {
      x: { time: false },
      y: { range: (_, least, most) => uPlot.rangeNum(Math.min(least, ...levels), Math.max(most, ...levels), 0.1, true) },
    },
    hooks: { drawAxes: [(plot) => levels.forEach((level) => drawLevel(plot, level))] },
    legend: { live: true },
    cursor: { drag: { x: true, y: false } },
    axes: [
      { ...axis, label: xLabel, labelSize: 22, incrs: [...WHOLE] },
      { ...axis, size: 64 },
    ],
    series: [
      { label: xLabel },
      { label, stroke: () => readColour('--estimate'), width: 2, points: { show: false } },
      ...(band
        ? [
            { label: 'low', ...edge },
            { label: 'high', ...edge },
          ]
        : []),
      ...more.map((curve, at) => ({
        label: curve.label,
        stroke: () => readColour(FURTHER[at % FURTHER.length] ?? '--target'),
        width: 2,
        dash: [6, 3],
        points: { show: false },
      })),
    ],
    bands: band ? [{ series: [3, 2], fill: () => readColour('--band') }] : [],
  };
}

/** Steps between the marks of an axis of episodes, pairs, steps or versions. */
const WHOLE = Array.from({ length: 16 }, (_, power) => [1, 2, 5].map((first) => first * 10 ** power)).flat();

function drawLevel(plot: uPlot, level: number): void {
  const { ctx, bbox } = plot;
  const y = Math.round(plot.valToPos(level, 'y', true));
  ctx.save();
  ctx.strokeStyle = readColour('--target');
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.restore();
}

/** Colours of further curves, which are dashed, too. */
const FURTHER = ['--bad', '--good', '--target', '--muted'] as const;

/** Of the colour scheme in force. */
function readColour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name);
}
