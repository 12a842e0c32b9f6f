/** Runs both at a time. When the first fails, the second is aborted: it may be bringing gigabytes that are not needed any more. */
export async function runSideBySide<First, Second>(
  first: () => Promise<First>,
  second: (signal: AbortSignal) => Promise<Second>,
  signal: AbortSignal,
): Promise<readonly [First, Second]> {
  const givenUp = new AbortController();
  const brought = second(AbortSignal.any([signal, givenUp.signal]));
  try {
    // A caller that gets the first error does not get the second.
    brought.catch(() => undefined);
    return [await first(), await brought];
  } catch (error) {
    givenUp.abort();
    await Promise.allSettled([brought]);
    throw error;
  }
}
