import { killProcess, listProcesses } from '../../../src/adapters/sandbox/local/host/process-table.ts';
import type { Stage } from '../stage.ts';

/** Kills every workspace of a stage's servers. @returns how many there were. */
export async function killWorkspaces(stage: Stage): Promise<number> {
  const isOfStage = (word: string): boolean => word.startsWith(stage.path(''));
  const found = (await listProcesses()).filter(({ argv }) => argv.some((word) => word.endsWith('/workspace.py')) && argv.some(isOfStage));
  for (const { pid } of found) killProcess(pid);
  return found.length;
}
