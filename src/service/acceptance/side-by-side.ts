/** Both at a time; when the first fails, the second is aborted: it may be bringing gigabytes that are not needed any more. */
export async function sideBySide<First, Second>(
  first: () => Promise<First>,
  second: (signal: AbortSignal) => Promise<Second>,
  signal: AbortSignal,
): Promise<readonly [First, Second]> {
  const givenUp = new AbortController();
  const brought = second(AbortSignal.any([signal, givenUp.signal]));
  try {
    // Who is told of what is wrong with the first is not told of the second.
    brought.catch(() => undefined);
    return [await first(), await brought];
  } catch (error) {
    givenUp.abort();
    await Promise.allSettled([brought]);
    throw error;
  }
}
