import { Batch, type BatchItem } from '../../faces/client/batch/batch.ts';
import type { MusterClient } from '../../faces/client/muster-client.ts';
import { systemClock } from '../../kernel/clock.ts';
import type { OpenedBatch } from '../../faces/client/batch/batch.ts';
import { createBatchDocument, formatBatchLines, createBatchView, isComplete, type BatchProgress } from '../lines/batch-lines.ts';
import { formatNotice } from '../terminal/error-report.ts';
import { EXIT_CODES } from '../terminal/exit-code.ts';
import { watchInterruption } from '../terminal/interruption.ts';
import { print } from '../terminal/output.ts';
import { openProgressDisplay } from '../progress/progress-display.ts';

export interface BatchRequest {
  readonly path: string;
  readonly client: MusterClient;
  readonly json: boolean;
}

/** @returns the exit code: 0 when every evaluation has its answer. */
export async function submitBatch(opened: OpenedBatch, { path, client, json }: BatchRequest): Promise<number> {
  using interrupt = watchInterruption(process, 'no longer waiting; what was submitted goes on');
  let items: readonly BatchItem[] = [];
  try {
    await followBatch(opened, client, { signal: interrupt.signal, onChange: (changed) => (items = changed) });
    await print(
      process.stdout,
      json ? `${JSON.stringify(createBatchDocument(opened.name, items), undefined, 2)}\n` : `${formatBatchLines(items).join('\n')}\n`,
    );
    return isComplete(items) ? EXIT_CODES.done : EXIT_CODES.incomplete;
  } catch (error) {
    const submitted = items.filter((item) => 'evaluation' in item).length;
    const remedy = `${submitted} of ${items.length} are at the server ("muster list --label batch=${opened.name}"); the same command goes on: muster submit --batch ${path}`;
    if (submitted > 0 || interrupt.signal.aborted) await print(process.stderr, formatNotice(remedy));
    throw error;
  }
}

interface Following {
  readonly signal: AbortSignal;
  readonly onChange: (items: readonly BatchItem[]) => void;
}

async function followBatch(opened: OpenedBatch, client: MusterClient, { signal, onChange }: Following): Promise<void> {
  const began = systemClock.now();
  using display = openProgressDisplay(createBatchView(opened.name), process.stderr);
  let shown: Omit<BatchProgress, 'seconds'> = { items: [], upload: undefined };
  const show = (change: Partial<typeof shown>): void => {
    shown = { ...shown, ...change };
    display.show({ ...shown, seconds: (systemClock.now() - began) / 1000 });
  };
  const batch = new Batch({
    ...opened,
    client,
    clock: systemClock,
    signal,
    onChange: (items) => {
      onChange(items);
      show({ items, upload: undefined });
    },
    onUpload: (title, upload) => show({ upload: { ...upload, title } }),
  });
  onChange(batch.items);
  show({ items: batch.items });
  await batch.run();
}
