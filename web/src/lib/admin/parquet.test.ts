import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parquetLines } from './parquet';

const file = (name: string) => new Blob([readFileSync(new URL(`./testdata/${name}`, import.meta.url))]);

test('rows of a Parquet file become JSON Lines', async () => {
  const mmlu = file('mmlu.parquet');
  expect(
    (await parquetLines(mmlu))
      .trim()
      .split('\n')
      .map((l) => JSON.parse(l)),
  ).toEqual([
    { question: 'What flies?', subject: 'animals', choices: ['cow', 'eagle', 'trout'], answer: 1 },
    { question: '¿Qué ladra?', subject: 'animals', choices: ['perro', 'gato'], answer: 0 },
  ]);
});

test('files that cannot be read are refused', async () => {
  const mmlu = file('mmlu.parquet');
  await expect(parquetLines(mmlu.slice(0, mmlu.size - 3))).rejects.toThrow();
  await expect(parquetLines(file('mmlu-zstd.parquet'))).rejects.toThrow(/ZSTD/);
});
