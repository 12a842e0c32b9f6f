import type { Band, Curve } from '../charts/curve.ts';
import type { CoursePoint } from './state.ts';

/** One of several courses in one chart. */
export interface Course {
  readonly label: string;
  /** `x` ascends. */
  readonly points: readonly (Omit<CoursePoint, 'episodes'> & { readonly x: number })[];
}

/** Aligns several courses on the places of all of them: null where a course has no point. */
export function alignCourses([first, ...others]: readonly Course[]): Pick<Curve, 'x' | 'label' | 'mean' | 'band' | 'more'> {
  const x = [...new Set([first, ...others].flatMap((course) => course?.points.map((point) => point.x) ?? []))].sort((a, b) => a - b);
  const align = ({ points }: Course): { readonly values: Band['low']; readonly band: Band } => {
    const at = new Map(points.map((point) => [point.x, point]));
    const read = (name: 'mean' | 'low' | 'high'): readonly (number | null)[] => x.map((place) => at.get(place)?.[name] ?? null);
    return { values: read('mean'), band: { low: read('low'), high: read('high') } };
  };
  const { values: mean, band } = align(first ?? { label: '', points: [] });
  return { x, label: first?.label ?? '', mean, band, more: others.map((course) => ({ label: course.label, ...align(course) })) };
}
