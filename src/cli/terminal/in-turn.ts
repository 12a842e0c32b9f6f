/** Tells a task in a sequence about those before it. */
export interface Turn {
  /** Settles when it is the task's turn; until then the task may prepare. */
  readonly after: Promise<void>;
  /** Aborted when its turn will not come. */
  readonly abandoned: AbortSignal;
}

interface Begun<Result> {
  readonly result: Promise<Result>;
  begin(): void;
  abandon(): void;
}

/**
 * Runs tasks in sequence. Each begins when the previous one has its turn, and gets its own turn when the caller asks for its result. A
 * caller that stops asking abandons the task that was preparing.
 *
 * @param task must not reject.
 */
export async function* runInTurn<Result>(count: number, task: (position: number, turn: Turn) => Promise<Result>): AsyncGenerator<Result> {
  let coming: Begun<Result> | undefined = beginTask(0, task);
  try {
    for (let position = 0; position < count; position += 1) {
      const present: Begun<Result> = coming ?? beginTask(position, task);
      present.begin();
      coming = position + 1 < count ? beginTask(position + 1, task) : undefined;
      yield await present.result;
    }
  } finally {
    coming?.abandon();
    await coming?.result;
  }
}

function beginTask<Result>(position: number, task: (position: number, turn: Turn) => Promise<Result>): Begun<Result> {
  const { promise: after, resolve: begin } = Promise.withResolvers<void>();
  const abandoned = new AbortController();
  return {
    result: task(position, { after, abandoned: abandoned.signal }),
    begin,
    abandon: () => abandoned.abort(new DOMException('its turn will not come', 'AbortError')),
  };
}
