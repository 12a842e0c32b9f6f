import { z } from 'zod';

const FACTORS: ReadonlyMap<string, number> = new Map([
  ['B', 1],
  ['kB', 1e3],
  ['MB', 1e6],
  ['GB', 1e9],
  ['TB', 1e12],
  ['KiB', 2 ** 10],
  ['MiB', 2 ** 20],
  ['GiB', 2 ** 30],
  ['TiB', 2 ** 40],
]);

const UNITS = [...FACTORS.keys()];
const FORM = new RegExp(`^(?<amount>\\d{1,15}(\\.\\d{1,9})?) ?(?<unit>${UNITS.join('|')})$`);
const EXPECTED = `expected a number of bytes of at least 1, or one with its unit (${UNITS.join(', ')}), such as "512MiB" or "1.5GB"`;

/** A number of bytes, or text such as `512MiB`; parsed to bytes, rounded to whole ones. */
export const byteSizeSchema = z
  .union([z.int().min(1), z.string().regex(FORM, EXPECTED)], { error: EXPECTED })
  .transform((value) => (typeof value === 'number' ? value : parseBytes(value)))
  .refine((bytes) => Number.isSafeInteger(bytes) && bytes >= 1, EXPECTED)
  .describe('bytes, or text such as "512MiB" or "1.5GB"');

function parseBytes(text: string): number {
  const { amount, unit } = FORM.exec(text)?.groups ?? {};
  return Math.round(Number(amount) * (FACTORS.get(unit ?? '') ?? Number.NaN));
}
