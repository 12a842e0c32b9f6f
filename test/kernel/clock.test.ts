import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../src/kernel/clock.ts';

const DAY_MS = 86_400_000;

describe("the system's clock", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it.each([0, 250, 2 ** 31 - 1, 2 ** 31, 100 * DAY_MS])('calls back after %s ms, not before', (delayMs) => {
    const callback = vi.fn<() => void>();
    systemClock.after(delayMs, callback);
    vi.advanceTimersByTime(Math.max(0, delayMs - 1));
    expect(callback).toHaveBeenCalledTimes(delayMs === 0 ? 1 : 0);
    vi.advanceTimersByTime(1);
    expect(callback).toHaveBeenCalledTimes(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('asks Node for no negative delay, which it would warn of', () => {
    const asked = vi.spyOn(globalThis, 'setTimeout');
    using _timer = systemClock.after(-20, () => undefined);
    expect(asked).toHaveBeenCalledExactlyOnceWith(expect.any(Function), 0);
  });

  it('never calls back after an infinite delay', () => {
    const callback = vi.fn<() => void>();
    using _timer = systemClock.after(Infinity, callback);
    vi.advanceTimersByTime(100 * DAY_MS);
    expect(callback).not.toHaveBeenCalled();
  });

  it('has no timer left when a long delay is cancelled half-way', () => {
    const timer = systemClock.after(100 * DAY_MS, () => undefined);
    vi.advanceTimersByTime(50 * DAY_MS);
    timer[Symbol.dispose]();
    expect(vi.getTimerCount()).toBe(0);
  });
});
