//! A ring buffer of bytes with a fixed capacity.

const std = @import("std");
const assert = std.debug.assert;

pub const Error = error{ Full, Empty };

/// How many bytes a default buffer holds.
pub const default_capacity = 4096;

/// A ring buffer. It does not own its memory.
pub const RingBuffer = struct {
    data: []u8,
    head: usize = 0,
    len: usize = 0,

    const Self = @This();

    pub fn init(data: []u8) Self {
        return .{ .data = data };
    }

    /// Appends a byte, or fails if there is no room.
    pub fn push(self: *Self, byte: u8) Error!void {
        if (self.isFull()) return Error.Full;
        self.data[(self.head + self.len) % self.data.len] = byte;
        self.len += 1;
    }

    pub fn pop(self: *Self) Error!u8 {
        if (self.len == 0) return Error.Empty;
        defer {
            self.head = (self.head + 1) % self.data.len;
            self.len -= 1;
        }
        return self.data[self.head];
    }

    pub inline fn isFull(self: *const Self) bool {
        return self.len == self.data.len;
    }
};

pub const Policy = enum { block, drop_oldest, drop_newest };

const usage =
    \\usage: ring [options] {
    \\  --size N
;

export fn ring_version() callconv(.C) u32 {
    return 3;
}

fn fill(comptime T: type, buffer: *RingBuffer, values: []const T) !void {
    for (values) |value| {
        try buffer.push(@intCast(value));
    }
}

test "a full buffer refuses a byte" {
    var memory: [1]u8 = undefined;
    var ring = RingBuffer.init(&memory);
    try ring.push('}');
    try std.testing.expectError(Error.Full, ring.push('"'));
}
