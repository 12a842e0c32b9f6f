/** What Zod calls the types of values, in the words of people who write YAML. */
const TYPES: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  tuple: 'a list',
  record: 'a mapping of names to values',
  nonoptional: 'a value',
};

const BOUNDS: Readonly<Record<string, (bound: string) => string>> = {
  '>': (bound) => `above ${bound}`,
  '>=': (bound) => `of ${bound} or more`,
  '<': (bound) => `below ${bound}`,
  '<=': (bound) => `of ${bound} at most`,
};

/** `expected a number above 0`, of Zod's message `Too small: expected number to be >0`. Messages that the schema writes itself stay. */
export function putPlainly(message: string): string {
  return message
    .replace(/^(Invalid input|Invalid option|Too small|Too big|Invalid string): /, '')
    .replace(/, received .*$/, '')
    .replace(
      /^Invalid discriminator value\. Expected (.+)$/,
      (_, kinds: string) => `expected one of ${kinds.replaceAll("'", '"').replaceAll(' | ', '|')}`,
    )
    .replace(/^expected (\w+)$/, (whole, type: string) => (TYPES[type] === undefined ? whole : `expected ${TYPES[type]}`))
    .replace(/^expected (number|int) to be ([<>]=?)(\S+)$/, (_, type: string, sign: string, bound: string) => {
      return `expected ${TYPES[type] ?? type} ${BOUNDS[sign]?.(bound) ?? `${sign} ${bound}`}`;
    })
    .replace(
      /^expected (array|string) to have ([<>]=?)(\d+) (item|character)s?$/,
      (_, type: string, sign: string, bound: string, unit: string) => {
        const count = `${bound} ${unit}${bound === '1' ? '' : 's'}`;
        return `expected ${TYPES[type] ?? type} ${BOUNDS[sign]?.(count) ?? `${sign} ${count}`}`;
      },
    )
    .replace(/^Invalid URL$/, 'expected a URL, such as https://host.example:8000')
    .replace(/^Invalid ISO datetime$/, 'expected a time with its zone, such as 2026-01-31T12:00:00Z')
    .replace(/^Invalid input$/, 'not valid');
}
