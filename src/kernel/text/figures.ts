/** Numbers and times as people read them. */

/** No return has more decimals. The limit hides rounding noise. */
const MOST_DECIMALS = 12;

/**
 * Formats a value with the decimals that its uncertainty makes meaningful: so many that the spread shows two significant digits, or three
 * when it begins with 1. A spread of 0 says nothing about the value, which then gets at most six significant digits.
 */
export function formatFigure(value: number, spread: number): string {
  if (!(spread > 0)) return groupThousands(String(Number(value.toPrecision(6))));
  const shown = value.toFixed(countDecimals(spread));
  return groupThousands(Number(shown) === 0 ? shown.replace('-', '') : shown);
}

function countDecimals(spread: number): number {
  const exponent = Math.floor(Math.log10(spread));
  const significant = spread / 10 ** exponent < 2 ? 3 : 2;
  return Math.min(MOST_DECIMALS, Math.max(0, significant - 1 - exponent));
}

export function formatCount(value: number): string {
  return groupThousands(String(Math.round(value)));
}

/** Says how many requests wait: `1 request waits`, `1,200 requests wait`. */
export function formatWaiting(requests: number): string {
  return `${formatCount(requests)} ${requests === 1 ? 'request waits' : 'requests wait'}`;
}

/** Formats `1,250`, `41.4` or `0.035`. */
export function formatRate(perSecond: number): string {
  if (perSecond < 0.95) return String(Number(perSecond.toPrecision(2)));
  return perSecond >= 99.95 ? formatCount(perSecond) : perSecond.toFixed(1);
}

/** Formats `4.0 s`, `12 s`, `1:05` or `2:03:09`. */
export function formatDuration(seconds: number): string {
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  if (seconds < 59.5) return `${Math.round(seconds)} s`;
  const whole = Math.round(seconds);
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return hours > 0 ? `${hours}:${padTwoDigits(minutes)}:${padTwoDigits(rest)}` : `${minutes}:${padTwoDigits(rest)}`;
}

/** Formats `12 s`, `5 min`, `3 h` or `4 d`: an age in the largest unit of which it has at least one. */
export function formatAge(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  return seconds < 86_400 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} d`;
}

function padTwoDigits(part: number): string {
  return String(part).padStart(2, '0');
}

function groupThousands(text: string): string {
  const [whole = '', fraction] = text.split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** Formats `512 B`, `1.5 MiB` or `120 GiB`. */
export function formatBytes(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(BYTE_UNITS.length - 1, Math.floor(Math.log2(bytes) / 10));
  const amount = bytes / 1024 ** power;
  return `${power === 0 || amount >= 99.95 ? groupThousands(amount.toFixed(0)) : amount.toFixed(1)} ${BYTE_UNITS[power]}`;
}

/** Formats a limit, or a size that exceeds one: `4194305 bytes (4.0 MiB)`. A rounded size alone would hide by how little it does. */
export function formatExactBytes(bytes: number): string {
  return bytes < 1024 ? `${bytes} bytes` : `${bytes} bytes (${formatBytes(bytes)})`;
}
