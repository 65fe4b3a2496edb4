//! What a chart shows, in numbers and words, before anything is drawn.
//!
//! The page, the static pictures and the tables are made from the same figures, so that they cannot contradict each
//! other.

/// One chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Name for links and files: lower-case letters, digits and dashes, unique in a report.
    pub id: String,
    /// What is shown, in one line.
    pub title: String,
    /// How it is to be read: what a point is, what the spread is.
    pub caption: String,
    /// What is seen, for those who do not see it: a few sentences with the figures that matter.
    pub text: String,
    /// What runs to the right.
    pub x: Axis,
    /// What runs upwards.
    pub y: Axis,
    /// What is shown, in the order of the legend.
    pub series: Vec<Series>,
}

impl Figure {
    /// Every `x` of the figure, ascending.
    pub fn xs(&self) -> Vec<f64> {
        let mut xs: Vec<f64> = self.series.iter().flat_map(|series| &series.points).map(|point| point.x).collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        xs
    }
}

/// One direction of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What the numbers are, with their unit.
    pub label: String,
    /// Unit of the numbers: how they are written beside a point.
    pub unit: Unit,
    /// Where a number lies.
    pub scale: Scale,
    /// Numbers to write along the axis, ascending: the numbers of threads that were measured. Where they would touch,
    /// some may be left out. Empty if the renderer is to choose.
    pub ticks: Vec<f64>,
}

/// How a number is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// As it is, with three significant digits, thousands as k, millions as M.
    Count,
    /// A time in nanoseconds, written in the unit that suits it: 1.5 us, 20 ms.
    Ns,
    /// A part of a whole, or a multiple: 0.95.
    Ratio,
}

/// Where a number lies on an axis.
#[derive(Clone, Debug, PartialEq)]
pub enum Scale {
    /// At a distance in proportion to it, from 0 on; from the lowest number if that is below 0.
    Linear,
    /// At a distance in proportion to its logarithm. All numbers of the axis, ends of spreads too, are above 0.
    Log,
}

/// What belongs together in a chart: a lock, from one file.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// As the legend calls it.
    pub name: String,
    /// Which colour and marker: the same for a lock in every figure of a report, and different for each lock. 0 is the
    /// flagship's. A renderer has a number of styles of its own and begins again after the last.
    pub style: usize,
    /// From which file, as a number from 0: what tells series of one lock apart, by dashes say.
    pub source: usize,
    /// Whether it is drawn in grey, behind the others: where there are more series than colours, only the flagship and
    /// the best have one.
    pub quiet: bool,
    /// The points, ascending in `x`.
    pub points: Vec<Point>,
}

/// A figure with its spread.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// To the right.
    pub x: f64,
    /// Upwards: the median over rounds.
    pub y: f64,
    /// Smallest and largest of the rounds; `None` of a single round.
    pub spread: Option<(f64, f64)>,
    /// Whether `y` is a lower bound: the window was over before what is shown.
    pub at_least: bool,
    /// Whether the rounds, each with a seed of its own, fall into two groups: `y` is then in one of them or in neither.
    pub bistable: bool,
}
