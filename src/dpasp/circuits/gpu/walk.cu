// Each block walks a whole tape (see tape.py) for a few columns of a batch.
//
// The columns are independent, so the barrier after a level is only inside the block. Every sum has
// one writer and a fixed order, so all runs give the same numbers. The host defines REAL (float or
// double), COLUMNS (a power of two up to 32), SCALED (every number has its own exponent, so that
// nothing underflows), OWN_SHARED and FACTOR_SHARED (which buffers are in shared memory), BACKWARD
// (the second factors are values of another walk), LOGS (the results, or those the seeds refer to,
// are logarithms), LABELS (the last heads are 1, or 0 if a label says so) and AHEAD (how many
// products a thread fetches together).

#define NOTHING (-(1 << 28))  // the exponent of 0

struct Number {
    REAL part;
#if SCALED
    int exponent;
#endif
};

#if SCALED
__device__ REAL power_of_two(int exponent) {  // for exponents up to 0; 0 if it is too small
    if (sizeof(REAL) == 8) {
        if (exponent < -1000) return 0;
        return __hiloint2double((1023 + exponent) << 20, 0);
    }
    if (exponent < -120) return 0;
    return __int_as_float((127 + exponent) << 23);
}

__device__ Number settled(REAL part, int exponent) {  // the part between 1/2 and 1
    if (part == 0) return {0, NOTHING};
    int more;
    if (sizeof(REAL) == 8) {
        part = frexp(double(part), &more);
    } else {
        part = frexpf(float(part), &more);
    }
    return {part, exponent + more};
}

__device__ void add(Number &total, Number more) {
    if (more.part == 0) return;
    int difference = more.exponent - total.exponent;
    if (total.part == 0) {
        total = more;
    } else if (difference > 0) {
        total.part = total.part * power_of_two(-difference) + more.part;
        total.exponent = more.exponent;
    } else {
        total.part += more.part * power_of_two(difference);
    }
}

__device__ Number product(Number a, Number b) {
    return {a.part * b.part, a.exponent + b.exponent};
}
#else
__device__ void add(Number &total, Number more) { total.part += more.part; }
__device__ Number product(Number a, Number b) { return {a.part * b.part}; }
#endif

struct Buffer {  // [entries, COLUMNS] of one tile
    REAL *part;
    int *exponent;

    __device__ Number get(int entry, int column) const {
        int place = entry * COLUMNS + column;
#if SCALED
        return {part[place], exponent[place]};
#else
        return {part[place]};
#endif
    }
    __device__ void put(int entry, int column, Number number) const {
        int place = entry * COLUMNS + column;
#if SCALED
        number = settled(number.part, number.exponent);
        exponent[place] = number.exponent;
#endif
        part[place] = number.part;
    }
};

__device__ Number plain(REAL value) {
#if SCALED
    return settled(value, 0);
#else
    return {value};
#endif
}

__device__ REAL value_of(Number number) {
#if SCALED
    if (number.part == 0) return 0;
    if (sizeof(REAL) == 8) return ldexp(double(number.part), number.exponent);
    return ldexpf(float(number.part), number.exponent);
#else
    return number.part;
#endif
}

__device__ REAL logarithm(Number number) {
#if SCALED
    const double two = 0.693147180559945309417;
    if (number.part == 0) return REAL(log(0.0));
    return REAL(log(double(number.part)) + two * number.exponent);
#else
    return log(number.part);
#endif
}


// What a block does at once: the sums begin..end, each shared by 1 << shift threads. The host cuts
// levels into steps with as many sums as there are threads for.
struct Step {
    int begin, end, shift, barrier;
};

// The products of the sum that a thread works on in a step.
struct Range {
    int row, first, last;
};

__device__ Range range_of(const Step &step, int slot, const int *__restrict__ start) {
    const int row = step.begin + (slot >> step.shift);
    if (row >= step.end) return {row, 0, 0};
    const int lane = slot & ((1 << step.shift) - 1);
    return {row, start[row] + lane, start[row + 1]};
}

// Some products of a thread, fetched together: that takes no longer than fetching a single one.
struct Products {
    int2 pair[AHEAD];
};

__device__ Products fetch(const int2 *__restrict__ pairs, const Range &range, int shift) {
    Products products;
#pragma unroll
    for (int i = 0; i < AHEAD; i++) {
        const int place = range.first + (i << shift);
        products.pair[i] = place < range.last ? pairs[place] : int2{0, 0};
    }
    return products;
}

struct Arguments {
    const REAL *head, *constant;
    const int *tape;
    REAL *out, *own_part;
    int *own_exponent;
    REAL *factor_part;
    int *factor_exponent;
    const int *seeded;
    const long long *labels;   // [batch, columns]
    const long long *entries;  // by column and label, the heads that are 0; negative: no such label
    long long batch, weights, columns, before, most, width;
};

extern "C" __global__ void __launch_bounds__(THREADS) walk(const Arguments given) {
    const REAL *__restrict__ head = given.head, *__restrict__ constant = given.constant;
    const int *__restrict__ tape = given.tape, *__restrict__ seeded = given.seeded;
    REAL *out = given.out;
    const long long batch = given.batch;
    extern __shared__ char memory[];
    const int heads = tape[0], constants = tape[1], steps = tape[2], entries = tape[3],
              results = tape[4], factors = tape[5];
    const Step *__restrict__ step = (const Step *)(tape + 8);  // three empty ones at the end
    const int2 *__restrict__ pairs = (const int2 *)(tape + tape[6]);
    const int *__restrict__ start = tape + tape[7];
    const int *__restrict__ result = (const int *)(step + steps + 3);
    const int column = threadIdx.x % COLUMNS, slot = threadIdx.x / COLUMNS;
    const int slots = blockDim.x / COLUMNS;
    const long long place = (long long)blockIdx.x * COLUMNS + column;
    const bool inside = place < batch;

    const long long own_offset = (long long)blockIdx.x * entries * COLUMNS;
    const long long factor_offset = (long long)blockIdx.x * factors * COLUMNS;
    Buffer kept = {given.own_part + own_offset, given.own_exponent + own_offset};
    Buffer own = kept;
    Buffer factor = {given.factor_part + factor_offset, given.factor_exponent + factor_offset};
    REAL *shared = (REAL *)memory;
#if OWN_SHARED
    own.part = shared;
    own.exponent = (int *)(shared + (entries + (FACTOR_SHARED ? factors : 0)) * COLUMNS);
#endif
#if BACKWARD && FACTOR_SHARED
    {
        Buffer copy = {shared + entries * COLUMNS, own.exponent + entries * COLUMNS};
        for (int i = threadIdx.x; i < factors * COLUMNS; i += blockDim.x) {
            copy.part[i] = factor.part[i];
#if SCALED
            copy.exponent[i] = factor.exponent[i];
#endif
        }
        factor = copy;
        __syncthreads();
    }
#endif
#if !BACKWARD
    factor = own;
#endif

    for (int i = slot; i < heads; i += slots) {
#if LABELS
        const bool given_head = i < given.weights;
#else
        const bool given_head = head;  // without seeds, each is 1
#endif
        Number number = plain(!inside ? REAL(0) : given_head ? head[i * batch + place] : REAL(1));
#if BACKWARD && LOGS
        Number root = factor.get(seeded[i], column);
        if (root.part == 0) {
            number.part = 0;
        } else {
            number.part /= root.part;
#if SCALED
            number.exponent -= root.exponent;
#endif
        }
#endif
        own.put(i, column, number);
    }
    for (int i = slot; i < constants; i += slots) own.put(heads + i, column, plain(constant[i]));
#if LABELS
    __shared__ bool unknown[COLUMNS];
    if (slot == 0) unknown[column] = false;
    __syncthreads();
    for (long long i = slot; inside && i < given.columns; i += slots) {
        const long long label = given.labels[place * given.columns + i];
        const long long low = -given.before, known = label > given.most ? given.most : label;
        const long long row = i * (given.before + given.most + 1) + given.before;
        const long long *entry = given.entries + (row + (known < low ? low : known)) * given.width;
        for (long long k = 0; k < given.width; k++) {
            if (entry[k] < 0) {
                unknown[column] = true;
            } else if (given.weights + entry[k] < heads) {
                own.put(given.weights + entry[k], column, plain(0));
            }
        }
    }
#endif
    __syncthreads();

    // While a step is computed, the parts of the tape for the next steps are fetched.
    const int first = heads + constants;
    Step now = step[0], next = step[1], later = step[2];
    Range range = range_of(now, slot, start), following = range_of(next, slot, start);
    Products ready = fetch(pairs, range, now.shift);
    for (int i = 0; i < steps; i++) {
        const Step last = step[i + 3];
        const Range after = range_of(later, slot, start);
        const Products coming = fetch(pairs, following, next.shift);
        Number total = plain(0);
        while (range.first < range.last) {
            const Products current = ready;
            const int place = range.first;
            range.first += AHEAD << now.shift;
            if (range.first < range.last) ready = fetch(pairs, range, now.shift);
            Number value[AHEAD];
#pragma unroll
            for (int k = 0; k < AHEAD; k++) {
                const int2 pair = current.pair[k];
                value[k] = product(own.get(pair.x, column), factor.get(pair.y, column));
            }
#pragma unroll
            for (int k = 0; k < AHEAD; k++) {
                if (place + (k << now.shift) < range.last) add(total, value[k]);
            }
        }
        for (int other = 0; other < now.shift; other++) {
            Number more;
            more.part = __shfl_xor_sync(~0u, total.part, COLUMNS << other);
#if SCALED
            more.exponent = __shfl_xor_sync(~0u, total.exponent, COLUMNS << other);
#endif
            add(total, more);
        }
        if (range.row < now.end && (slot & ((1 << now.shift) - 1)) == 0) {
            own.put(first + range.row, column, total);
        }
        if (now.barrier) __syncthreads();
        now = next;
        next = later;
        later = last;
        range = following;
        following = after;
        ready = coming;
    }

    for (int i = slot; i < results; i += slots) {
        Number number = own.get(result[i], column);
        REAL value = (LOGS && !BACKWARD) ? logarithm(number) : value_of(number);
#if BACKWARD
        const REAL most = sizeof(REAL) == 8 ? REAL(1.7976931348623157e308) : REAL(3.4028234e38);
        if (isinf(value)) value = value > 0 ? most : -most;
#endif
#if LABELS
        if (unknown[column]) value = REAL(nan(""));
#endif
        if (inside) out[i * batch + place] = value;
    }
#if OWN_SHARED && KEEP
    for (int i = threadIdx.x; i < entries * COLUMNS; i += blockDim.x) {
        kept.part[i] = own.part[i];
#if SCALED
        kept.exponent[i] = own.exponent[i];
#endif
    }
#endif
}
