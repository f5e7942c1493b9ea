/* A = L Lᵀ for a symmetric, positive definite A, row by row: all sums run along rows of L. */

/** L, in a matrix whose upper half is not to be looked at. `lift` is added to A's diagonal. */
function cholesky(matrix, count, lift) {
  const root = Float64Array.from(matrix);
  for (let i = 0; i < count; i++) {
    const row = i * count;
    root[row + i] += lift;
    for (let j = 0; j <= i; j++) {
      const other = j * count;
      let rest = root[row + j];
      for (let c = 0; c < j; c++) rest -= root[row + c] * root[other + c];
      root[row + j] = i === j ? Math.sqrt(rest) : rest / root[other + j];
    }
  }
  return root;
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
