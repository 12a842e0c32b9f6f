/** Colours by what they say. In both schemes text reaches a contrast of 4.5 on what it stands on, marks and lines one of 3 (WCAG 2.2, AA). */
export interface Palette {
  readonly page: string;
  readonly surface: string;
  readonly text: string;
  readonly muted: string;
  readonly line: string;
  readonly grid: string;
  /** The estimate and its interval. */
  readonly estimate: string;
  readonly area: string;
  /** What was asked for: a half-width, a margin, a threshold. */
  readonly target: string;
  readonly targetArea: string;
  readonly good: string;
  readonly goodArea: string;
  readonly bad: string;
  readonly badArea: string;
  readonly caution: string;
  readonly cautionArea: string;
}

export const LIGHT: Palette = {
  page: '#f5f6f8',
  surface: '#ffffff',
  text: '#19212e',
  muted: '#566072',
  line: '#d9dee6',
  grid: '#eaedf2',
  estimate: '#2457c5',
  area: '#cfddf8',
  target: '#96570a',
  targetArea: '#fbeed6',
  good: '#11703c',
  goodArea: '#e3f4e9',
  bad: '#b3261e',
  badArea: '#fce8e6',
  caution: '#7a5200',
  cautionArea: '#fdf3dc',
};

export const DARK: Palette = {
  page: '#10141b',
  surface: '#191f29',
  text: '#e6eaf1',
  muted: '#a4aebd',
  line: '#333c4a',
  grid: '#262e3a',
  estimate: '#8ab4ff',
  area: '#2b4370',
  target: '#f0b95a',
  targetArea: '#3a2f18',
  good: '#5fd08f',
  goodArea: '#16301f',
  bad: '#ff9a90',
  badArea: '#3d1f1d',
  caution: '#f2c66d',
  cautionArea: '#332a14',
};
