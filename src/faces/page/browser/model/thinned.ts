/** Of a course that is drawn: more than a curve shows on any screen. */
const MOST_POINTS = 2000;

/** Every other point once there are too many, so that an evaluation that is watched for days costs no more than one of an hour. The last is kept. */
export function thin<Point>(points: readonly Point[]): readonly Point[] {
  return points.length <= MOST_POINTS ? points : points.filter((_, at) => (points.length - 1 - at) % 2 === 0);
}
