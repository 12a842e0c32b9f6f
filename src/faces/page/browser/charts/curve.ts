import { html, type TemplateResult } from 'lit-html';
import { ref } from 'lit-html/directives/ref.js';
import uPlot from 'uplot';

/** A curve with a band around it, drawn on a canvas. All lists are as long as `x`. */
export interface Curve {
  readonly title: string;
  readonly xLabel: string;
  readonly x: readonly number[];
  /** The name of the curve; the mean when left out. */
  readonly label?: string;
  readonly mean: readonly (number | null)[];
  /** It is left out where there is no band. */
  readonly band?: Band;
  /** Further curves of the same scale. */
  readonly more?: readonly { readonly label: string; readonly values: readonly (number | null)[]; readonly band?: Band }[];
  /** Positions with a vertical line, by what was decided there. */
  readonly marks?: readonly Mark[];
  /** Values with a horizontal line. */
  readonly levels?: readonly number[];
  /** Describes in words what it shows. */
  readonly alternative: string;
}

export interface Band {
  readonly low: readonly (number | null)[];
  readonly high: readonly (number | null)[];
}

export interface Mark {
  readonly x: number;
  readonly kind: 'promote' | 'regress';
}

const HEIGHT = 300;

interface Drawn {
  readonly plot: uPlot;
  readonly resize: ResizeObserver;
  readonly curve: Curve;
}

const drawn = new Map<HTMLElement, Drawn>();

// Marks of a legend keep their original colour.
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  for (const [element, { curve }] of Array.from(drawn)) {
    forget(element);
    draw(element, curve);
  }
});

/** Draws the curve on a canvas that stays the same while the curve grows. */
export function renderCurve(curve: Curve): TemplateResult {
  return html`<figure class="curve">
    <figcaption><bdi>${curve.title}</bdi></figcaption>
    <div class="canvas" role="img" aria-label=${curve.alternative} ${ref((element) => element && draw(element, curve))}></div>
  </figure>`;
}

function draw(element: Element, curve: Curve): void {
  if (!(element instanceof HTMLElement)) return;
  const before = drawn.get(element);
  const data = toAlignedData(curve);
  if (before && isSameShape(before.curve, curve)) {
    if (!isSameData(before.plot.data, data)) before.plot.setData(data);
    drawn.set(element, { ...before, curve });
    return;
  }
  if (before) forget(element);
  const plot = new uPlot(getOptions(curve, element.clientWidth || 600), data, element);
  const resize = new ResizeObserver(() => {
    if (element.isConnected) plot.setSize({ width: element.clientWidth, height: HEIGHT });
    else forget(element);
  });
  resize.observe(element);
  drawn.set(element, { plot, resize, curve });
}

/** Whether the same plot can show both: it keeps its curves, levels and marks. */
function isSameShape(one: Curve, other: Curve): boolean {
  const shapeOf = ({ label, band, more = [], levels, marks }: Curve): string =>
    JSON.stringify([label, band !== undefined, more.map((each) => [each.label, each.band !== undefined]), levels, marks]);
  return shapeOf(one) === shapeOf(other);
}

function isSameData(one: uPlot.AlignedData, other: uPlot.AlignedData): boolean {
  return one.length === other.length && one.every((values, at) => areSame(values, other[at] ?? []));
}

function areSame(one: ArrayLike<unknown>, other: ArrayLike<unknown>): boolean {
  for (let at = Math.max(one.length, other.length) - 1; at >= 0; at -= 1) if (one[at] !== other[at]) return false;
  return true;
}

function forget(element: HTMLElement): void {
  const { plot, resize } = drawn.get(element) ?? {};
  resize?.disconnect();
  plot?.destroy();
  drawn.delete(element);
}

function toAlignedData({ x, mean, band, more = [] }: Curve): uPlot.AlignedData {
  return [[...x], [...mean], ...listEdges(band), ...more.flatMap(({ values, band: further }) => [[...values], ...listEdges(further)])];
}

function listEdges(band: Band | undefined): (number | null)[][] {
  return band ? [[...band.low], [...band.high]] : [];
}

function getOptions(curve: Curve, width: number): uPlot.Options {
  const { xLabel, levels = [], marks = [] } = curve;
  const axis = {
    stroke: () => readColour('--muted'),
    grid: { stroke: () => readColour('--grid') },
    ticks: { stroke: () => readColour('--line') },
  };
  return {
    width,
    height: HEIGHT,
    scales: {
      x: { time: false },
      y: { range: (_, least, most) => uPlot.rangeNum(Math.min(least, ...levels), Math.max(most, ...levels), 0.1, true) },
    },
    hooks: {
      drawAxes: [(plot) => levels.forEach((level) => drawLevel(plot, level))],
      draw: [(plot) => marks.forEach((mark) => drawMark(plot, mark))],
    },
    legend: { live: true },
    cursor: { drag: { x: true, y: false } },
    axes: [
      { ...axis, label: xLabel, labelSize: 22, size: 36, incrs: [...WHOLE] },
      { ...axis, size: 64 },
    ],
    ...listSeries(curve),
  };
}

/** Lists each curve followed by the edges of its band, and the bands between these. */
function listSeries({ xLabel, label = 'mean', band, more = [] }: Curve): Pick<uPlot.Options, 'series' | 'bands'> {
  const series: uPlot.Series[] = [{ label: xLabel }];
  const bands: uPlot.Band[] = [];
  const add = (curve: uPlot.Series, colour: string, of: Band | undefined, edgeClass: string): void => {
    series.push({ ...curve, stroke: () => readColour(colour), width: 2, points: { show: false }, spanGaps: true });
    if (!of) return;
    const edge = { stroke: 'transparent', points: { show: false }, spanGaps: true, class: edgeClass };
    series.push({ ...edge, label: 'low' }, { ...edge, label: 'high' });
    bands.push({ series: [series.length - 1, series.length - 2], fill: () => readColour(`${colour}-band`) });
  };
  add({ label }, '--estimate', band, 'own');
  for (const [at, further] of more.entries())
    add({ label: further.label, dash: [6, 3] }, FURTHER[at % FURTHER.length] ?? '--target', further.band, 'edge');
  return { series, bands };
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

/** Draws a line across the whole height, with a mark that points up for promote and down for regress, because colour alone is not accessible. */
function drawMark(plot: uPlot, { x, kind }: Mark): void {
  const { ctx, bbox } = plot;
  const at = Math.round(plot.valToPos(x, 'x', true));
  const size = 7 * devicePixelRatio;
  const [tip, foot] = kind === 'promote' ? [0, size] : [size, 0];
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = readColour(kind === 'promote' ? '--good' : '--bad');
  ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio]);
  ctx.beginPath();
  ctx.moveTo(at, bbox.top + size);
  ctx.lineTo(at, bbox.top + bbox.height);
  ctx.stroke();
  ctx.beginPath();
  ctx.moveTo(at, bbox.top + tip);
  ctx.lineTo(at - size * 0.7, bbox.top + foot);
  ctx.lineTo(at + size * 0.7, bbox.top + foot);
  ctx.fill();
  ctx.restore();
}

/** Colours of further curves, which are also dashed. */
const FURTHER = ['--bad', '--good', '--target', '--muted'] as const;

/** Reads a colour of the present colour scheme. */
function readColour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name);
}
