/** Returns a figure as JSON has it: null where there is none, or where floating point cannot hold it. */
export function toFigure(value: number | undefined): number | null {
  return value !== undefined && Number.isFinite(value) ? value : null;
}
