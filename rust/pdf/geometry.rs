//! Boxes, and the turning of a page so that its text runs from left to right.

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

    /// Returns the box as in a mirror, so that what is on the right is on the left.
    pub fn mirrored(self) -> Self {
        Self {
            left: -self.right,
            right: -self.left,
            ..self
        }
    }

    /// Returns the point in the middle.
    pub fn middle(self) -> (f32, f32) {
        ((self.left + self.right) / 2.0, (self.low + self.high) / 2.0)
    }

    /// Returns whether a point is within the box or on its edge.
    pub fn contains(&self, (x, y): (f32, f32)) -> bool {
        self.left <= x && x <= self.right && self.low <= y && y <= self.high
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
    /// The text runs at another angle, in degrees counterclockwise.
    Slanted(u16),
}

// Degrees from a quarter turn that a page has which was scanned askew.
const ASKEW: i32 = 3;
// Degrees by which a letter of a curved text is turned from the one before.
const CURVED: i32 = 40;

impl Turn {
    /// Returns the turn for an angle of characters, in radians counterclockwise.
    pub fn of_angle(angle: f32) -> Self {
        let degrees = (angle.to_degrees().round() as i32).rem_euclid(360);
        let quarter = (degrees + 45) / 90;
        if (degrees - 90 * quarter).abs() > ASKEW {
            return Self::Slanted(degrees as u16);
        }
        match quarter % 4 {
            1 => Self::Upwards,
            2 => Self::Down,
            3 => Self::Downwards,
            _ => Self::Upright,
        }
    }

    /// Returns whether letters with these turns may follow each other in a curved text.
    pub fn bends_to(self, next: Self) -> bool {
        let slanted = matches!(self, Self::Slanted(_)) || matches!(next, Self::Slanted(_));
        let apart = (self.degrees() - next.degrees()).rem_euclid(360);
        slanted && apart.min(360 - apart) <= CURVED
    }

    fn degrees(self) -> i32 {
        match self {
            Self::Upright | Self::Vertical => 0,
            Self::Upwards => 90,
            Self::Down => 180,
            Self::Downwards => 270,
            Self::Slanted(degrees) => i32::from(degrees),
        }
    }

    /// Returns a point of the page after the turn.
    pub fn point(self, x: f32, y: f32) -> (f32, f32) {
        match self {
            Self::Upright => (x, y),
            Self::Upwards => (y, -x),
            Self::Down => (-x, -y),
            Self::Downwards | Self::Vertical => (-y, x),
            Self::Slanted(degrees) => {
                let (sin, cos) = f32::from(degrees).to_radians().sin_cos();
                (x * cos + y * sin, y * cos - x * sin)
            }
        }
    }

    /// Returns a box of the page after the turn.
    pub fn rect(self, rect: Rect) -> Rect {
        let corners = [
            self.point(rect.left, rect.low),
            self.point(rect.right, rect.high),
            self.point(rect.left, rect.high),
            self.point(rect.right, rect.low),
        ];
        let (x, y) = corners[0];
        let first = Rect {
            left: x,
            low: y,
            right: x,
            high: y,
        };
        corners[1..].iter().fold(first, |all, &(x, y)| Rect {
            left: all.left.min(x),
            low: all.low.min(y),
            right: all.right.max(x),
            high: all.high.max(y),
        })
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
