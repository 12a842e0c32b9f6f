/** Together with the last one, a course has at most 128 points. */
const MOST_REGULAR = 127;

/**
 * The history of figures over the episodes, with few enough points to draw: those after every 2ᵏ episodes, k growing when there are too many, and the
 * last one. A function of the number of episodes only; a point that is not kept costs a comparison.
 */
export class Course<Point> {
  #regular: Point[] = [];
  #stride = 1;

  /** @param episodes one more than at the previous call, from 1 on. @param point makes their point; called only when it is kept. */
  note(episodes: number, point: () => Point): void {
    if (episodes % this.#stride !== 0) return;
    this.#regular.push(point());
    if (this.#regular.length <= MOST_REGULAR) return;
    this.#regular = this.#regular.filter((_, position) => position % 2 === 1);
    this.#stride *= 2;
  }

  /** @param episodes in total; 0 gives no point. @param last makes the last point when it is not among the kept ones. */
  listPoints(episodes: number, last: () => Point): Point[] {
    return this.#regular.length * this.#stride === episodes ? [...this.#regular] : [...this.#regular, last()];
  }
}
