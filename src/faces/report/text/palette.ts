/** Colours by meaning. In both schemes text has a contrast of 4.5 on its background, marks and lines one of 3 (WCAG 2.2, AA). */
export const LIGHT = {
  page: '#f5f6f8',
  surface: '#ffffff',
  text: '#19212e',
  muted: '#566072',
  line: '#d9dee6',
  grid: '#eaedf2',
  /** The estimate and its interval. */
  estimate: '#2457c5',
  area: '#cfddf8',
  /** A target: a half-width, a margin, a threshold. */
  target: '#96570a',
  targetArea: '#fbeed6',
  good: '#11703c',
  goodArea: '#e3f4e9',
  bad: '#b3261e',
  badArea: '#fce8e6',
  caution: '#7a5200',
  cautionArea: '#fdf3dc',
};

export type Palette = Readonly<typeof LIGHT>;

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
