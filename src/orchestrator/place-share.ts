/** How many of a pool's sandboxes a study may hold at a time, when others want them too. Without one it takes what the pool gives. */
export interface PlaceShare {
  /** Resolves when the study may hold one more sandbox. @throws the signal's reason when it is aborted first. */
  take(signal: AbortSignal): Promise<Place>;
}

/** The right to hold one sandbox; it ends when it is disposed of. */
export interface Place extends Disposable {
  /** Aborted when somebody else is to have it: its holder finishes what is under way, and gives it back. */
  readonly recalled: AbortSignal;
}
