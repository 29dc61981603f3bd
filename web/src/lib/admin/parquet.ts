import { parquetMetadataAsync, parquetReadObjects } from 'hyparquet';

const MAX_FILE = 256 * 2 ** 20; // bytes, as for the command line
const MAX_ROWS = 100_000; // tasks of a pack

/**
 * Returns the rows of a Parquet file as JSON Lines. The browser reads it, because the server refuses Parquet: a
 * small file may claim any amount of memory.
 */
export async function parquetLines(file: Blob): Promise<string> {
  const whole = { byteLength: file.size, slice: (from: number, to?: number) => file.slice(from, to).arrayBuffer() };
  if (file.size > MAX_FILE) throw new Error(`the file has ${file.size} bytes, the limit is ${MAX_FILE}`);
  const metadata = await parquetMetadataAsync(whole);
  if (metadata.num_rows > MAX_ROWS) throw new Error(`the file has ${metadata.num_rows} rows, the limit is ${MAX_ROWS}`);
  const rows = await parquetReadObjects({ file: whole, metadata });
  return rows.map((row) => `${JSON.stringify(row, plain)}\n`).join('');
}

/** Makes numbers of large integers, texts where no double is exact. Bytes that are no text are left out. */
function plain(_: string, value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString();
  return ArrayBuffer.isView(value) ? undefined : value;
}
