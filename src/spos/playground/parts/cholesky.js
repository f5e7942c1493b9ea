/* K = L Lᵀ for the kernel matrix K, row by row: all sums run along rows of L. */

/** The lower half of K + lift · I, count × count, factored. `k` as in `pairs.js`.

    Two rows and two columns at a time: four sums share what they read, which takes half the time. */
function cholesky(k, count, lift) {
  const root = new Float64Array(count * count);
  const kernel = (i, j) => k[(i * (i - 1)) / 2 + j];
  const last = count - (count % 2);
  for (let i = 0; i < last; i += 2) {
    const upper = i * count;
    const lower = upper + count;
    for (let j = 0; j < i; j += 2) {
      const left = j * count;
      const right = left + count;
      let s00 = kernel(i, j);
      let s01 = kernel(i, j + 1);
      let s10 = kernel(i + 1, j);
      let s11 = kernel(i + 1, j + 1);
      for (let c = 0; c < j; c++) {
        const a = root[upper + c];
        const b = root[lower + c];
        const x = root[left + c];
        const y = root[right + c];
        s00 -= a * x;
        s01 -= a * y;
        s10 -= b * x;
        s11 -= b * y;
      }
      const first = root[left + j];
      const between = root[right + j];
      const second = root[right + j + 1];
      root[upper + j] = s00 / first;
      root[lower + j] = s10 / first;
      root[upper + j + 1] = (s01 - root[upper + j] * between) / second;
      root[lower + j + 1] = (s11 - root[lower + j] * between) / second;
    }
    finish(root, i, count, lift);
    root[lower + i] = (kernel(i + 1, i) - dot(root, lower, upper, i)) / root[upper + i];
    finish(root, i + 1, count, lift);
  }
  if (last < count) {
    for (let j = 0; j < last; j++) {
      const sum = kernel(last, j) - dot(root, last * count, j * count, j);
      root[last * count + j] = sum / root[j * count + j];
    }
    finish(root, last, count, lift);
  }
  return root;
}

/** The diagonal of a row whose other numbers are there. */
function finish(root, i, count, lift) {
  const row = i * count;
  root[row + i] = Math.sqrt(1 + lift - dot(root, row, row, i));
}

/** Σ_c m[a + c] m[b + c] over `length` terms. */
function dot(m, a, b, length) {
  let sum = 0;
  for (let c = 0; c < length; c++) sum += m[a + c] * m[b + c];
  return sum;
}

/** x with L Lᵀ x = b, for each column of b (count × size). */
function choleskySolve(root, right, count, size) {
  const x = Float64Array.from(right);
  for (let c = 0; c < size; c++) {
    for (let i = 0; i < count; i++) {
      let rest = x[i * size + c];
      for (let j = 0; j < i; j++) rest -= root[i * count + j] * x[j * size + c];
      x[i * size + c] = rest / root[i * count + i];
    }
    for (let i = count - 1; i >= 0; i--) {
      const value = x[i * size + c] / root[i * count + i];
      x[i * size + c] = value;
      for (let j = 0; j < i; j++) x[j * size + c] -= root[i * count + j] * value;
    }
  }
  return x;
}

/** L x for each column of x. */
function choleskyTimes(root, x, count, size) {
  const product = new Float64Array(count * size);
  for (let i = 0; i < count; i++) {
    for (let j = 0; j <= i; j++) {
      const weight = root[i * count + j];
      for (let c = 0; c < size; c++) product[i * size + c] += weight * x[j * size + c];
    }
  }
  return product;
}
