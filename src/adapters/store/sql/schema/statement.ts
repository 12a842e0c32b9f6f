/** Values of a column. Times are milliseconds, documents their JSON text, truth values 0 and 1. */
export type Value = string | number | null;

/** A statement or a part of one: the text between its values, and the values, which never become part of the text. */
export interface Sql {
  readonly texts: readonly string[];
  readonly values: readonly Value[];
}

type Inserted = Value | undefined | Sql;

/** Makes a statement. Undefined means NULL. */
export function sql(texts: TemplateStringsArray, ...inserted: readonly Inserted[]): Sql {
  if (inserted.every(isValue)) return { texts, values: inserted.map((item) => item ?? null) };
  const parts = [texts[0] ?? ''];
  const values: Value[] = [];
  inserted.forEach((item, i) => {
    const following = texts[i + 1] ?? '';
    if (!isValue(item)) {
      const [first = '', ...rest] = item.texts;
      parts.push(`${parts.pop() ?? ''}${first}`, ...rest);
      parts.push(`${parts.pop() ?? ''}${following}`);
      values.push(...item.values);
    } else {
      parts.push(following);
      values.push(item ?? null);
    }
  });
  return { texts: parts, values };
}

function isValue(item: Inserted): item is Value | undefined {
  return typeof item !== 'object' || item === null;
}

/** Takes text of the program's own, never anything from outside. */
export function toPlainSql(text: string): Sql {
  return { texts: [text], values: [] };
}

export function joinSql(parts: readonly Sql[], separator: string): Sql {
  return parts.reduce((all, part, i) => (i === 0 ? part : sql`${all}${toPlainSql(separator)}${part}`), toPlainSql(''));
}

/** @param placeholder of the value at a position, from 1 on. */
export function renderSql({ texts }: Sql, placeholder: (position: number) => string): string {
  return texts.reduce((text, part, i) => `${text}${placeholder(i)}${part}`);
}
