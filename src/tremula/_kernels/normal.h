/* The normal distribution, short enough to be compiled in place and turned into vector instructions. */
#ifndef TREMULA_NORMAL_H
#define TREMULA_NORMAL_H

#include "lanes.h"

#define FAR 8.3             /* beyond so many standard deviations the tail, 5e-17, counts as nothing */

/* Polynomials are summed in pieces that do not wait for each other: it is waiting that takes the time. */

/* exp(y) for -40 < y <= 0: y = k ln 2 + r, and the series of exp(r) to the twelfth power. */
IN_PLACE double quick_exp(double y) {
    double k = y * 1.4426950408889634 + 6755399441055744.0, scale;
    int64_t bits;
    memcpy(&bits, &k, sizeof bits);
    k -= 6755399441055744.0;
    double r = (y - k * 0.693147180369123816490) - k * 1.90821492927058770002e-10, r2 = r * r, r4 = r2 * r2;
    double low = (1.0 + r) + (1.0 / 2 + r * (1.0 / 6)) * r2;
    double middle = (1.0 / 24 + r * (1.0 / 120)) + (1.0 / 720 + r * (1.0 / 5040)) * r2;
    double high = (1.0 / 40320 + r * (1.0 / 362880)) + (1.0 / 3628800 + r * (1.0 / 39916800)) * r2;
    high += r4 * (1.0 / 479001600);
    bits = (int64_t)((uint64_t)bits << 52) + 0x3FF0000000000000LL;
    memcpy(&scale, &bits, sizeof scale);
    return (low + r4 * (middle + r4 * high)) * scale;
}

/* Normal distribution function: the rational form of Hart (1968, no. 5666) for exp(-z^2/2) times Mills' ratio. */
IN_PLACE double normal_below(double z) {
    double a = fabs(z);
    a = a > FAR ? FAR : a;  /* in this order NaN stays NaN */
    double a2 = a * a, a4 = a2 * a2;
    double even = (3.52624965998911e-02 * a2 + 6.37396220353165) * a4 + (112.079291497871 * a2 + 220.206867912376);
    double odd = 0.700383064443688 * a4 + (33.912866078383 * a2 + 221.213596169931);
    double below_even = (1.75566716318264 * a2 + 86.7807322029461) * a4 + (637.333633378831 * a2 + 440.413735824752);
    double below_odd = (8.83883476483184e-02 * a2 + 16.064177579207) * a4 + (296.564248779674 * a2 + 793.826512519948);
    double tail = quick_exp(-0.5 * a2) * ((even + a * odd) / (below_even + a * below_odd));
    tail = a == FAR ? 0.0 : tail;
    return z < 0 ? tail : 1.0 - tail;
}

#define ROUGH_FAR 6.5       /* the tail beyond is 4e-11 */
#define ROUGH_ERROR 5e-11   /* largest error of what follows */

/* Normal distribution function up to an error: the tail is the sixteenth power of a reciprocal, whose polynomial is
 * fitted to the least largest error of the tail. Only for numbers of magnitude below ROUGH_FAR. */
IN_PLACE Several roughly_below(Several z) {
    Several a = magnitude(z), a2 = a * a, a4 = a2 * a2;
    Several low = (1.0442737824212225 + a * 0.05207562077726938) +
                  (0.02207361435854409 + a * 0.0034290947051135797) * a2;
    Several middle = (3.904333105741434e-05 + a * 4.2468394434360906e-05) +
                     (1.4557526670181868e-05 - a * 3.8037270235112263e-06) * a2;
    Several high = (7.674759488018369e-07 - a * 7.442681050574919e-08) + a2 * 3.792674675010671e-09;
    Several root = 1.0 / (low + a4 * (middle + a4 * high));
    root *= root, root *= root, root *= root, root *= root;
    return choose(z < 0, root, 1.0 - root);
}

IN_PLACE double normal_density(double z) {
    double a = fabs(z);
    a = a > FAR ? FAR : a;
    double height = 0.3989422804014327 * quick_exp(-0.5 * a * a);
    return a == FAR ? 0.0 : height;
}

#endif
