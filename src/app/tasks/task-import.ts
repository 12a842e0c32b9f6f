import { join } from 'node:path';
import { readRows } from '../../adapters/tasks/dataset-rows.ts';
import { writeTask } from '../../adapters/tasks/task-writer.ts';
import { readSweTask } from '../../agents/tasks/importing/swe-rows.ts';
import { showTask } from './task-catalogue.ts';

export interface ImportTerms {
  /** Rows of a dataset: a JSON list, or an object on each line. */
  readonly rows: string;
  /** Directory that the tasks' directories are made in. */
  readonly out: string;
  /** Imports only the rows with these instance ids. */
  readonly only?: readonly string[];
  readonly limit?: number;
}

/** The result for one row. */
export type ImportedTask =
  | { readonly name: string; readonly directory: string; readonly refusal: null }
  | { readonly name: string; readonly directory: null; readonly refusal: string };

/**
 * Makes a task of each row, and reads it again after writing it, to make sure that it is valid.
 *
 * @throws InputError `task.rows`, `task.row`, `task.exists`
 */
export async function* importTasks({ rows, out, only, limit = Infinity }: ImportTerms): AsyncGenerator<ImportedTask> {
  let taken = 0;
  for await (const { where, row, id } of readRows(rows)) {
    if (only !== undefined && !only.includes(id)) continue;
    if (taken === limit) return;
    taken += 1;
    const imported = readSweTask(where, row);
    if ('refusal' in imported) yield { name: imported.name, directory: null, refusal: imported.refusal };
    else {
      const directory = join(out, imported.task.name);
      await writeTask(directory, imported.task);
      await showTask(directory);
      yield { name: imported.task.name, directory, refusal: null };
    }
  }
}
