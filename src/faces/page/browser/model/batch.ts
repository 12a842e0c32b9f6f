import { compareLatestFirst } from '../../../client/live-board.ts';
import type { EvaluationItem } from '../../../http/schemas/evaluation-schemas.ts';

/** The evaluations of one job: those with the same label `batch`, which `muster submit --batch` gives them. */
export interface Batch {
  readonly name: string;
  readonly items: readonly EvaluationItem[];
}

/** Lists the batch with the latest evaluation first. */
export function groupBatches(evaluations: readonly EvaluationItem[]): readonly Batch[] {
  const labelled = evaluations.filter(({ labels }) => labels['batch'] !== undefined).sort(compareLatestFirst);
  const byName = Map.groupBy(labelled, ({ labels }) => labels['batch'] ?? '');
  return Array.from(byName, ([name, items]) => ({ name, items }));
}

export interface Row {
  /** One for each suite; the latest where there are several. */
  readonly cells: readonly (EvaluationItem | undefined)[];
}

/** Lists checkpoints down, suites across. Checkpoints come as their versions do, then by name. */
export function listCells(items: readonly EvaluationItem[]): { readonly suites: readonly string[]; readonly rows: readonly Row[] } {
  const suites = [...new Set(items.map(({ suite }) => suite))].sort();
  const byCheckpoint = Map.groupBy(items, ({ checkpoints }) => checkpoints.map(({ digest }) => digest).join(' '));
  const groups = [...byCheckpoint.values()].sort(([a], [b]) => compareCheckpoints(a, b));
  return { suites, rows: groups.map((group) => ({ cells: suites.map((suite) => group.find((item) => item.suite === suite)) })) };
}

function compareCheckpoints(a: EvaluationItem | undefined, b: EvaluationItem | undefined): number {
  const [first, second] = [formatKey(a), formatKey(b)];
  return (a?.version ?? 0) - (b?.version ?? 0) || (first < second ? -1 : first > second ? 1 : 0);
}

function formatKey(item: EvaluationItem | undefined): string {
  const checkpoint = item?.checkpoints[0];
  return `${item?.run ?? ''} ${checkpoint?.name ?? checkpoint?.uri ?? ''}`;
}
