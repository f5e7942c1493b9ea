/* What every interaction begins with: distances, the bandwidth η² and the kernel

       k_ij = exp(-|θ_i - θ_j|² / η²),

   for the pairs i > j, in one array: (1, 0), (2, 0), (2, 1), (3, 0), … The diagonal is 1.
   Particles come as columns here, one coordinate of all after the other, so that the inner loops
   run over particles: they are the long ones in the plane, and what they read lies together.

   η² is a number, or med² / log M with `med` the median distance of two particles. The median is
   over all pairs up to 8192 of them, and over as many fixed pairs above, as in the library. */

const MAX_PAIRS = 8192;

/** `count` rows as columns; with the two numbers exchanged, columns as rows. */
function transposed(rows, count) {
  const size = rows.length / count;
  const columns = new Float64Array(rows.length);
  for (let i = 0; i < count; i++) {
    for (let c = 0; c < size; c++) columns[c * count + i] = rows[i * size + c];
  }
  return columns;
}

/** The bandwidth and the kernel of `count` particles, given as columns. */
function pairsOf(columns, count, bandwidth) {
  const k = new Float64Array((count * (count - 1)) / 2);
  for (let i = 1, row = 0; i < count; row += i++) {
    for (let first = 0; first < columns.length; first += count) {
      const here = columns[first + i];
      for (let j = 0; j < i; j++) {
        const gap = here - columns[first + j];
        k[row + j] += gap * gap;
      }
    }
  }
  const eta2 = bandwidth === "median" ? medianRule(k, columns, count) : bandwidth;
  for (let n = 0; n < k.length; n++) k[n] = Math.exp(-k[n] / eta2);
  return { eta2, k };
}

/** η² from the squared distances of all pairs. */
function medianRule(sq, columns, count) {
  if (count === 1) return 1;
  const values = somePairs(sq, count);
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  // below this two particles are the same float, and have no scale
  const least = Math.max((4 * Number.EPSILON) ** 2 * centreSquared(columns, count), 1e-307);
  const median = medianOf(values, Math.sqrt) ** 2;
  const scale = median > least ? median : mean > least ? mean : 1;
  return scale / Math.log(count);
}

let chosen = { count: 0, pairs: null };

/** A copy of the distances that the median is taken of. */
function somePairs(sq, count) {
  if (sq.length <= MAX_PAIRS) return sq.slice();
  if (chosen.count !== count) {
    const next = generator(0, STREAM.pairs, count);
    const pairs = Int32Array.from({ length: MAX_PAIRS }, () => Math.floor(next() * sq.length));
    chosen = { count, pairs };
  }
  const some = new Float64Array(MAX_PAIRS);
  for (let n = 0; n < MAX_PAIRS; n++) some[n] = sq[chosen.pairs[n]];
  return some;
}

function centreSquared(columns, count) {
  let total = 0;
  for (let first = 0; first < columns.length; first += count) {
    let sum = 0;
    for (let i = 0; i < count; i++) sum += columns[first + i];
    total += (sum / count) ** 2;
  }
  return total;
}

/** The median of `map(value)` for a rising map; of an even count the mean of the middle two. */
function medianOf(values, map = (value) => value) {
  const half = Math.floor((values.length - 1) / 2);
  const lower = map(nthSmallest(values, half));
  if (values.length % 2) return lower;
  let upper = Infinity; // the selection has left everything above on the right
  for (let n = half + 1; n < values.length; n++) upper = Math.min(upper, values[n]);
  return 0.5 * (lower + map(upper));
}

/** Hoare's selection; reorders `values`. */
function nthSmallest(values, n) {
  let low = 0;
  let high = values.length - 1;
  while (low < high) {
    const pivot = values[(low + high) >> 1];
    let i = low;
    let j = high;
    while (i <= j) {
      while (values[i] < pivot) i++;
      while (values[j] > pivot) j--;
      if (i <= j) {
        const kept = values[i];
        values[i++] = values[j];
        values[j--] = kept;
      }
    }
    if (n <= j) high = j;
    else if (n >= i) low = i;
    else break;
  }
  return values[n];
}
