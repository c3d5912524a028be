//! Prometheus' text format, version 0.0.4.

use std::fmt::Write;

use super::histogram::Histogram;

/// Writes families of metrics, each with its HELP and TYPE once.
#[derive(Debug, Default)]
pub(super) struct Exposition {
    text: String,
}

/// Names and values of labels.
pub(super) type Labels<'a> = [(&'static str, &'a str)];

impl Exposition {
    pub(super) fn finish(self) -> String {
        self.text
    }

    /// Begins a family; its samples follow.
    pub(super) fn family(
        &mut self,
        name: &'static str,
        kind: &'static str,
        help: &'static str,
    ) -> Family<'_> {
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        self.write(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
        Family { out: self, name }
    }

    fn write(&mut self, what: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = self.text.write_fmt(what);
    }

    fn sample(&mut self, name: &str, suffix: &str, labels: &Labels<'_>, bound: Option<&str>, value: f64) {
        self.write(format_args!("{name}{suffix}"));
        let all = labels.iter().copied().chain(bound.map(|bound| ("le", bound)));
        let mut begun = false;
        for (label, text) in all {
            let text = text.replace('\\', "\\\\").replace('\n', "\\n").replace('"', "\\\"");
            self.write(format_args!("{}{label}=\"{text}\"", if begun { "," } else { "{" }));
            begun = true;
        }
        if begun {
            self.text.push('}');
        }
        self.write(format_args!(" {}\n", number(value)));
    }
}

/// A family of metrics that has begun.
#[derive(Debug)]
pub(super) struct Family<'e> {
    out: &'e mut Exposition,
    name: &'static str,
}

impl Family<'_> {
    pub(super) fn value(&mut self, labels: &Labels<'_>, value: f64) -> &mut Self {
        self.out.sample(self.name, "", labels, None, value);
        self
    }

    #[expect(clippy::cast_precision_loss, reason = "the format's numbers are floats")]
    pub(super) fn count(&mut self, labels: &Labels<'_>, count: u64) -> &mut Self {
        self.value(labels, count as f64)
    }

    #[expect(clippy::cast_precision_loss, reason = "the format's numbers are floats")]
    pub(super) fn histogram(&mut self, labels: &Labels<'_>, histogram: &Histogram) -> &mut Self {
        let (bounds, sum, total) = histogram.cumulative();
        for (bound, count) in bounds {
            self.out.sample(self.name, "_bucket", labels, Some(&number(bound)), count as f64);
        }
        self.out.sample(self.name, "_bucket", labels, Some("+Inf"), total as f64);
        self.out.sample(self.name, "_sum", labels, None, sum);
        self.out.sample(self.name, "_count", labels, None, total as f64);
        self
    }
}

fn number(value: f64) -> String {
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned()
    } else {
        value.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_as_the_format_has_them() {
        let mut out = Exposition::default();
        out.family("a_total", "counter", "Of a\nthing.").count(&[("x", "q\"\\\n")], 3).count(&[], 1);
        out.family("g", "gauge", "Of g.").value(&[], f64::INFINITY).value(&[], 0.25);
        let expected = "# HELP a_total Of a\\nthing.\n# TYPE a_total counter\na_total{x=\"q\\\"\\\\\\n\"} 3\na_total 1\n\
                        # HELP g Of g.\n# TYPE g gauge\ng +Inf\ng 0.25\n";
        assert_eq!(out.finish(), expected);
    }

    #[test]
    fn histograms_are_cumulative() {
        let histogram = Histogram::new(&[0.1, 2.0]);
        histogram.add_ns(50_000_000);
        histogram.add_ns(1_000_000_000);
        histogram.add_ns(9_000_000_000);
        let mut out = Exposition::default();
        out.family("h_seconds", "histogram", "Of h.").histogram(&[("o", "a")], &histogram);
        let lines: Vec<String> = out.finish().lines().skip(2).map(str::to_owned).collect();
        assert_eq!(
            lines,
            [
                "h_seconds_bucket{o=\"a\",le=\"0.1\"} 1",
                "h_seconds_bucket{o=\"a\",le=\"2\"} 2",
                "h_seconds_bucket{o=\"a\",le=\"+Inf\"} 3",
                "h_seconds_sum{o=\"a\"} 10.05",
                "h_seconds_count{o=\"a\"} 3",
            ]
        );
    }
}
