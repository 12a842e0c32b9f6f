/** Resolves as the promise does, or rejects with the signal's reason as soon as it is aborted. Leaves no listener behind. */
export function raceWithAbort<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  if (signal.aborted) {
    // The promise is no longer awaited; this avoids an unhandled rejection.
    promise.catch(() => undefined);
    return Promise.reject(createAbortError(signal));
  }
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(createAbortError(signal));
  signal.addEventListener('abort', onAbort, { once: true });
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener('abort', onAbort));
}

/** Returns the signal's reason as an error, whatever type the reason has. */
export function createAbortError(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new DOMException(String(signal.reason), 'AbortError');
}
