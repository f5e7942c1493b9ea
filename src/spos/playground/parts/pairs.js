/* What every interaction begins with: distances, the bandwidth η² and the kernel matrix

       k_ij = exp(-|θ_i - θ_j|² / η²).

   η² is a number, or med² / log M with `med` the median distance of two particles. The median is
   over all pairs up to 8192 of them, and over as many fixed pairs above, as in the library. */

const MAX_PAIRS = 8192;

/** The squared distances of `count` particles in `size` dimensions, their η² and their kernel. */
function pairsOf(theta, count, size, bandwidth) {
  const sq = new Float64Array(count * count);
  for (let i = 1; i < count; i++) {
    for (let j = 0; j < i; j++) {
      let sum = 0;
      for (let a = i * size, b = j * size, end = a + size; a < end; a++, b++) {
        const gap = theta[a] - theta[b];
        sum += gap * gap;
      }
      sq[i * count + j] = sum;
      sq[j * count + i] = sum;
    }
  }
  const eta2 = bandwidth === "median" ? medianRule(sq, theta, count, size) : bandwidth;
  const k = new Float64Array(count * count);
  for (let i = 0; i < count; i++) {
    k[i * count + i] = 1;
    for (let j = 0; j < i; j++) {
      k[i * count + j] = k[j * count + i] = Math.exp(-sq[i * count + j] / eta2);
    }
  }
  return { eta2, k };
}

function medianRule(sq, theta, count, size) {
  if (count === 1) return 1;
  const values = chosenPairs(count).map((place) => sq[place]);
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  // below this two particles are the same float, and have no scale
  const least = Math.max((4 * Number.EPSILON) ** 2 * centreSquared(theta, count, size), 1e-307);
  const median = medianOf(values, Math.sqrt) ** 2;
  const scale = median > least ? median : mean > least ? mean : 1;
  return scale / Math.log(count);
}

let pairsKept = { count: 0, places: null };

/** The places in the matrix of distances that the median is taken of. */
function chosenPairs(count) {
  if (pairsKept.count === count) return pairsKept.places;
  const all = (count * (count - 1)) / 2;
  const places = new Float64Array(Math.min(all, MAX_PAIRS));
  if (all <= MAX_PAIRS) {
    let n = 0;
    for (let i = 1; i < count; i++) for (let j = 0; j < i; j++) places[n++] = i * count + j;
  } else {
    const next = generator(0, STREAM.pairs, count);
    for (let n = 0; n < MAX_PAIRS; n++) {
      const i = Math.floor(next() * count);
      const j = (i + 1 + Math.floor(next() * (count - 1))) % count;
      places[n] = i * count + j;
    }
  }
  pairsKept = { count, places };
  return places;
}

function centreSquared(theta, count, size) {
  let total = 0;
  for (let c = 0; c < size; c++) {
    let sum = 0;
    for (let i = 0; i < count; i++) sum += theta[i * size + c];
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
        [values[i], values[j]] = [values[j], values[i]];
        i++;
        j--;
      }
    }
    if (n <= j) high = j;
    else if (n >= i) low = i;
    else break;
  }
  return values[n];
}
