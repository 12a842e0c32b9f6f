/** The largest number of points of a drawn course: more than any screen can show. */
const MOST_POINTS = 2000;

/** Drops every other point once there are too many, so that watching an evaluation for days costs no more than for an hour. Keeps the last point. */
export function thin<Point>(points: readonly Point[]): readonly Point[] {
  return points.length <= MOST_POINTS ? points : points.filter((_, at) => (points.length - 1 - at) % 2 === 0);
}
