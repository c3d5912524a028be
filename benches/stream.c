/* Memory read, copied and combined by all cores, in as plain a way as a compiler can make fast: what the
 * machine's rates are held against. Usage: stream BYTES REPEATS, with BYTES of all arrays of a kernel together.
 * Prints the best bytes a second of each kernel, counted as STREAM counts (McCalpin 1995). */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static double *array(size_t n, double value) {
    double *made = aligned_alloc(64, (n * sizeof(double) + 63) / 64 * 64);
    if (made == NULL)
        exit(1);
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++)
        made[i] = value;
    return made;
}

static double best(double before, size_t bytes, double began_s) {
    double rate = (double)bytes / (omp_get_wtime() - began_s);
    return rate > before ? rate : before;
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    size_t n = strtoull(argv[1], NULL, 10) / sizeof(double);
    int repeats = atoi(argv[2]);
    double read = 0, copy = 0, triad = 0, sum = 0;

    double *a = array(n, 1.5);
    for (int r = 0; r < repeats; r++) {
        double began_s = omp_get_wtime();
#pragma omp parallel for schedule(static) reduction(+ : sum)
        for (size_t i = 0; i < n; i++)
            sum += a[i];
        read = best(read, n * sizeof(double), began_s);
    }
    free(a);

    size_t half = n / 2;
    a = array(half, 1.5);
    double *b = array(half, 2.5);
    for (int r = 0; r < repeats; r++) {
        double began_s = omp_get_wtime();
#pragma omp parallel for schedule(static)
        for (size_t i = 0; i < half; i++)
            a[i] = b[i];
        copy = best(copy, 2 * half * sizeof(double), began_s);
        b[r % half] = r;
    }
    free(a);
    free(b);

    size_t third = n / 3;
    a = array(third, 0.5);
    b = array(third, 1.5);
    double *c = array(third, 2.5);
    for (int r = 0; r < repeats; r++) {
        double began_s = omp_get_wtime();
#pragma omp parallel for schedule(static)
        for (size_t i = 0; i < third; i++)
            a[i] = b[i] + 3.0 * c[i];
        triad = best(triad, 3 * third * sizeof(double), began_s);
        b[r % third] = r;
    }
    /* All sums and the last array are used, so that none of the loops can be left out. */
    fprintf(stderr, "%g\n", sum + a[third / 2]);
    printf("{\"read\": %.0f, \"copy\": %.0f, \"triad\": %.0f}\n", read, copy, triad);
    return 0;
}
