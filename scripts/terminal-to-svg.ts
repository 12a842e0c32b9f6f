/**
 * Draws what a terminal showed as a self-contained SVG, from text with its colour sequences:
 *
 *   tmux capture-pane -e -p > running.ansi
 *   node scripts/terminal-to-svg.ts docs/images/run.svg running.ansi finished.ansi
 *
 * Several captures are drawn below each other, with a rule between them.
 */
import { readFileSync, writeFileSync } from 'node:fs';

interface Style {
  readonly bold: boolean;
  readonly dim: boolean;
  readonly colour: string;
}

/** Characters of one style, from a column on. They have no blanks at either end, which SVG would collapse. */
interface Run {
  readonly column: number;
  readonly text: string;
  readonly style: Style;
}

const BACKGROUND = '#0d1117';
const FOREGROUND = '#d6dde6';
const RULE = '#30363d';
const PLAIN: Style = { bold: false, dim: false, colour: FOREGROUND };

/** The eight colours of a terminal, then their bright forms. */
const PALETTE = ['#484f58', '#ff7b72', '#3fb950', '#e3b341', '#58a6ff', '#bc8cff', '#39c5cf', '#b1bac4'];
const BRIGHT = ['#6e7681', '#ffa198', '#56d364', '#f2cc60', '#79c0ff', '#d2a8ff', '#56d4dd', '#f0f6fc'];

const FONT_SIZE = 14;
const FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace";
/** The width of a character, an average of fixed-width fonts. Each run is stretched to fit with any font. */
const CELL_WIDTH = 8.4;
const LINE_HEIGHT = 20;
const MARGIN = 18;

// oxlint-disable-next-line no-control-regex -- escape sequences begin with a control character
const SEQUENCE = /\u001b\[([\d;]*)m/;

/** Parses one line of a capture. A style lasts beyond the line's end. */
function parseLine(line: string, before: Style): { readonly runs: readonly Run[]; readonly style: Style } {
  const runs: Run[] = [];
  let style = before;
  let column = 0;
  for (const [position, part] of line.split(SEQUENCE).entries()) {
    if (position % 2 === 1) {
      style = styled(style, part.split(';').map(Number));
    } else {
      const text = part.trim();
      if (text !== '') runs.push({ column: column + part.indexOf(text), text, style });
      column += cellsOf(part);
    }
  }
  return { runs, style };
}

/** Applies "select graphic rendition" (ECMA-48, 8.3.117), as far as Muster uses it: weight and foreground colours. */
function styled(before: Style, codes: readonly number[]): Style {
  let style = before;
  for (const code of codes) {
    if (code === 0) style = PLAIN;
    else if (code === 1) style = { ...style, bold: true };
    else if (code === 2) style = { ...style, dim: true };
    else if (code === 22) style = { ...style, bold: false, dim: false };
    else if (code === 39) style = { ...style, colour: FOREGROUND };
    else if (code >= 30 && code <= 37) style = { ...style, colour: PALETTE[code - 30] ?? FOREGROUND };
    else if (code >= 90 && code <= 97) style = { ...style, colour: BRIGHT[code - 90] ?? FOREGROUND };
  }
  return style;
}

/** Draws bars as patterns with an opacity, because the glyphs of most fonts leave gaps between them. */
const BARS = [
  [/^█+$/, 1],
  [/^░+$/, 0.35],
] as const;

const SEGMENTER = new Intl.Segmenter();

/** Counts the columns of a text. Muster prints no wide characters. */
function cellsOf(text: string): number {
  return Array.from(SEGMENTER.segment(text)).length;
}

function drawRun({ column, text, style }: Run, top: number): string {
  const x = MARGIN + column * CELL_WIDTH;
  const width = cellsOf(text) * CELL_WIDTH;
  const bar = BARS.find(([pattern]) => pattern.test(text));
  if (bar) return rectangle(x, top + 4, width, LINE_HEIGHT - 9, style.colour, bar[1] * (style.dim ? 0.6 : 1));
  const looks = [`fill="${style.colour}"`, ...(style.bold ? ['font-weight="700"'] : []), ...(style.dim ? ['opacity="0.6"'] : [])];
  const place = `x="${round(x)}" y="${round(top + LINE_HEIGHT - 6)}" textLength="${round(width)}" lengthAdjust="spacingAndGlyphs"`;
  return `<text ${place} ${looks.join(' ')}>${escaped(text)}</text>`;
}

function rectangle(x: number, y: number, width: number, height: number, fill: string, opacity = 1): string {
  const size = `x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}"`;
  return `<rect ${size} fill="${fill}"${opacity === 1 ? '' : ` opacity="${round(opacity)}"`}/>`;
}

function drawCapture(lines: readonly (readonly Run[])[], top: number): readonly string[] {
  return lines.flatMap((runs, line) => runs.map((run) => drawRun(run, top + line * LINE_HEIGHT)));
}

function linesOf(capture: string): readonly (readonly Run[])[] {
  let style = PLAIN;
  return capture
    .trimEnd()
    .split('\n')
    .map((line) => {
      const parsed = parseLine(line.trimEnd(), style);
      style = parsed.style;
      return parsed.runs;
    });
}

function drawing(captures: readonly string[]): string {
  const parsed = captures.map(linesOf);
  const ends = parsed.flat(2).map(({ column, text }) => column + cellsOf(text));
  const width = 2 * MARGIN + Math.max(0, ...ends) * CELL_WIDTH;
  const shapes: string[] = [];
  let top = MARGIN;
  for (const lines of parsed) {
    if (top > MARGIN) shapes.push(rectangle(0, top - LINE_HEIGHT / 2, width, 1, RULE));
    shapes.push(...drawCapture(lines, top));
    top += (lines.length + 1) * LINE_HEIGHT;
  }
  return document(shapes, width, top - LINE_HEIGHT + MARGIN);
}

function document(shapes: readonly string[], width: number, height: number): string {
  const size = `width="${round(width)}" height="${round(height)}" viewBox="0 0 ${round(width)} ${round(height)}"`;
  const font = `font-family="${FONTS}" font-size="${FONT_SIZE}" xml:space="preserve"`;
  const frame = `<rect width="100%" height="100%" rx="8" fill="${BACKGROUND}"/>`;
  return [`<svg xmlns="http://www.w3.org/2000/svg" ${size} ${font}>`, frame, ...shapes, '</svg>', ''].join('\n');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function round(value: number): number {
  return Number(value.toFixed(2));
}

const [target, ...sources] = process.argv.slice(2);
if (target === undefined || sources.length === 0) {
  process.stderr.write('usage: node scripts/terminal-to-svg.ts OUT.svg CAPTURE...\n');
  process.exitCode = 2;
} else {
  writeFileSync(target, drawing(sources.map((source) => readFileSync(source, 'utf8'))));
}
