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
  /** What it shows, in words. */
  readonly alternative: string;
}

const HEIGHT = 300;

interface Drawn {
  readonly plot: uPlot;
  readonly resize: ResizeObserver;
  readonly curve: Curve;
}

const drawn = new WeakMap<Element, Drawn>();

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
    if (element.isConnected) return plot.setSize({ width: element.clientWidth, height: HEIGHT });
    resize.disconnect();
    plot.destroy();
  });
  resize.observe(element);
  drawn.set(element, { plot, resize, curve });
}

function toAlignedData({ x, mean, band }: Curve): uPlot.AlignedData {
  return band ? [[...x], [...mean], [...band.low], [...band.high]] : [[...x], [...mean]];
}

function getOptions({ xLabel, label = 'mean', band }: Curve, width: number): uPlot.Options {
  const axis = {
    stroke: () => readColour('--muted'),
    grid: { stroke: () => readColour('--grid') },
    ticks: { stroke: () => readColour('--line') },
  };
  const edge = { stroke: () => readColour('--area'), points: { show: false } };
  return {
    width,
    height: HEIGHT,
    scales: { x: { time: false } },
    legend: { live: true },
    cursor: { drag: { x: true, y: false } },
    axes: [
      { ...axis, label: xLabel, labelSize: 22 },
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
    ],
    bands: band ? [{ series: [3, 2], fill: () => readColour('--band') }] : [],
  };
}

/** Of the colour scheme in force. */
function readColour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name);
}
