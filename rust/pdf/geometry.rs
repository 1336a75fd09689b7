//! Boxes, intervals, and the turning of a page so that its text runs from left to right.

/// A box in points; `low` and `high` are vertical, and y grows upwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rect {
    /// The left edge.
    pub left: f32,
    /// The lower edge.
    pub low: f32,
    /// The right edge.
    pub right: f32,
    /// The upper edge.
    pub high: f32,
}

impl Rect {
    /// Returns the smallest box around both.
    pub fn union(self, other: Self) -> Self {
        Self {
            left: self.left.min(other.left),
            low: self.low.min(other.low),
            right: self.right.max(other.right),
            high: self.high.max(other.high),
        }
    }

    /// Returns whether all edges are numbers within a distance that no page exceeds.
    pub fn is_sane(&self) -> bool {
        [self.left, self.low, self.right, self.high]
            .iter()
            .all(|edge| edge.is_finite() && edge.abs() < 1e7)
    }
}

/// How a page is turned so that its text runs from left to right and its lines from top to bottom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Turn {
    /// Not at all.
    Upright,
    /// The text runs upwards on the page.
    Upwards,
    /// The text is upside down.
    Down,
    /// The text runs downwards on the page.
    Downwards,
    /// Upright characters in columns from top to bottom, the first column on the right.
    Vertical,
}

impl Turn {
    /// Returns the turn for an angle of characters, in radians counterclockwise.
    pub fn of_angle(angle: f32) -> Self {
        let quarters = (angle / std::f32::consts::FRAC_PI_2).round() as i64;
        match quarters.rem_euclid(4) {
            1 => Self::Upwards,
            2 => Self::Down,
            3 => Self::Downwards,
            _ => Self::Upright,
        }
    }

    /// Returns a point of the page after the turn.
    pub fn point(self, x: f32, y: f32) -> (f32, f32) {
        match self {
            Self::Upright => (x, y),
            Self::Upwards => (y, -x),
            Self::Down => (-x, -y),
            Self::Downwards | Self::Vertical => (-y, x),
        }
    }

    /// Returns a box of the page after the turn.
    pub fn rect(self, rect: Rect) -> Rect {
        let (x0, y0) = self.point(rect.left, rect.low);
        let (x1, y1) = self.point(rect.right, rect.high);
        Rect {
            left: x0.min(x1),
            low: y0.min(y1),
            right: x0.max(x1),
            high: y0.max(y1),
        }
    }
}

/// Returns the middle value of numbers, 0 if there are none.
pub fn median(mut values: Vec<f32>) -> f32 {
    if values.is_empty() {
        return 0.0;
    }
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f32::total_cmp).1
}
