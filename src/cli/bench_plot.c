/* SPDX-License-Identifier: MIT */
/*
 * The ratios as bars, in SVG: the kernel is the line at 1, anyuring's bar goes
 * right where it is faster and left where it is slower, on a logarithmic
 * scale. Times are turned over, so that right is always better. The colours
 * suit a light and a dark background; the background itself is left alone.
 */
#include <math.h>
#include <string.h>
#include "cli/bench.h"

enum {
	WIDTH = 860,
	LABEL = 290, /* where the bars begin */
	RIGHT = 90, /* room for the figure behind the longest bar */
	TOP = 64,
	ROW = 26,
	BAR = 16,
	BOTTOM = 56,
};

struct scale {
	int from, to; /* powers of ten at both ends */
};

static double x_of(const struct scale *s, double gain)
{
	return LABEL + (log10(gain) - s->from) / (s->to - s->from) *
			       (WIDTH - LABEL - RIGHT);
}

static struct scale scale_of(const struct bench_report *rep)
{
	struct scale s = { .from = -1, .to = 1 };

	for (unsigned int i = 0; i < rep->nr; i++) {
		for (int who = BENCH_KERNEL; who < BENCH_CONTENDERS; who++) {
			const struct bench_result *res = &rep->results[i];
			double gain;

			if (!res->has[who] || !res->has[BENCH_KERNEL])
				continue;
			gain = log10(bench_gain(res, BENCH_KERNEL));
			if (who == BENCH_RIVAL)
				gain -= log10(bench_gain(res, BENCH_RIVAL));
			while (gain < s.from)
				s.from--;
			while (gain > s.to)
				s.to++;
		}
	}
	return s;
}

static void text(FILE *f, double x, double y, const char *class,
		 const char *anchor, const char *s)
{
	fprintf(f,
		"<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" "
		"text-anchor=\"%s\">",
		x, y, class, anchor);
	for (; *s; s++) {
		if (*s == '&')
			fputs("&amp;", f);
		else if (*s == '<')
			fputs("&lt;", f);
		else
			fputc(*s, f);
	}
	fputs("</text>\n", f);
}

static void axis(FILE *f, const struct scale *s, double bottom)
{
	for (int e = s->from; e <= s->to; e++) {
		double x = x_of(s, pow(10, e));
		char label[32];

		fprintf(f,
			"<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%.1f\" "
			"class=\"%s\"/>\n",
			x, x, TOP - 8, bottom, e ? "grid" : "one");
		if (e >= 5)
			snprintf(label, sizeof(label), "1e%d", e);
		else
			snprintf(label, sizeof(label), "%.*f", e < 0 ? -e : 0,
				 pow(10, e));
		text(f, x, bottom + 16, "note", "middle", label);
	}
}

/*
 * A tick where the rival stands, measured by the kernel as the bar is. Returns
 * its place, 0 without a rival.
 */
static double rival(FILE *f, const struct scale *s,
		    const struct bench_result *res, double y)
{
	double x;

	if (!res->has[BENCH_RIVAL])
		return 0;
	x = x_of(s,
		 bench_gain(res, BENCH_KERNEL) / bench_gain(res, BENCH_RIVAL));
	fprintf(f,
		"<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" "
		"class=\"rival\"/>\n",
		x, x, y - 2, y + BAR + 2);
	return x;
}

/* Two digits that count: 0.82x, 4.5x, 12x, 210000x. */
static void gain_label(double gain, char *buf, size_t size)
{
	double unit = 1;

	while (gain / unit >= 99.5)
		unit *= 10;
	if (gain < 9.95)
		snprintf(buf, size, "%.*fx", gain < 0.995 ? 2 : 1, gain);
	else
		snprintf(buf, size, "%.0fx", round(gain / unit) * unit);
}

static void bar(FILE *f, const struct scale *s, const struct bench_result *res,
		double y)
{
	double one = x_of(s, 1), x, gain;
	char label[96];

	snprintf(label, sizeof(label), "%s: %s", res->c->suite, res->c->title);
	text(f, LABEL - 12, y + BAR - 3, "label", "end", label);
	if (!res->has[BENCH_USER] || !res->has[BENCH_KERNEL]) {
		text(f, one + 6, y + BAR - 3, "note", "start",
		     res->skipped[0] ? "skipped" : "not compared");
		return;
	}
	gain = bench_gain(res, BENCH_KERNEL);
	x = x_of(s, gain);
	fprintf(f,
		"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" "
		"rx=\"2\" class=\"%s\"/>\n",
		x < one ? x : one, y, fabs(x - one) + 0.5, BAR,
		gain < 1 ? "slower" : "faster");
	x = fmax(fmax(x, one), rival(f, s, res, y));
	gain_label(gain, label, sizeof(label));
	text(f, x + 8, y + BAR - 3, "value", "start", label);
}

void bench_plot(const struct bench_report *rep, FILE *f)
{
	double bottom = TOP + (double)rep->nr * ROW;
	struct scale s = scale_of(rep);

	fprintf(f,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
		"height=\"%.0f\" viewBox=\"0 0 %d %.0f\" role=\"img\">\n",
		WIDTH, bottom + BOTTOM, WIDTH, bottom + BOTTOM);
	fputs("<title>anyuring beside the kernel's io_uring</title>\n"
	      "<style>\n"
	      "text { font: 13px sans-serif; fill: #59636e }\n"
	      ".head { font-size: 16px; font-weight: bold }\n"
	      ".value { font-weight: bold }\n"
	      ".note { font-size: 11px }\n"
	      ".grid { stroke: #808a94; stroke-opacity: .3 }\n"
	      ".one { stroke: #808a94; stroke-width: 2 }\n"
	      ".faster { fill: #2f81c4 }\n"
	      ".slower { fill: #c8641e }\n"
	      ".rival { stroke: #808a94; stroke-width: 3 }\n"
	      "@media (prefers-color-scheme: dark) "
	      "{ text { fill: #b4bcc4 } }\n"
	      "</style>\n",
	      f);
	text(f, 16, 26, "head", "start",
	     "anyuring beside the kernel's io_uring");
	text(f, 16, 44, "note", "start",
	     "How many times as fast, the kernel being 1; grey marks: the same "
	     "work without a ring. Logarithmic.");
	axis(f, &s, bottom);
	for (unsigned int i = 0; i < rep->nr; i++)
		bar(f, &s, &rep->results[i],
		    TOP + (double)i * ROW + (ROW - BAR) / 2.0);
	fputs("</svg>\n", f);
}
