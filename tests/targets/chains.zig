// SPDX-License-Identifier: Apache-2.0
//! The chains of chains.h in Zig, without any libc.
const std = @import("std");
const linux = std.os.linux;

extern const recorder_bytes: u64;
extern fn recorder_begin(memory: *anyopaque) void;
extern fn recorder_push(function: u32) void;
extern fn recorder_pop() void;
extern fn recorder_record() void;

// The ids of recorder.c.
const id_run = 0;
const id_directions = 1;
const id_seasons = 5;
const id_colours = 9;
const id_turn = 13;
const id_light = 14;
const id_heavy = 15;

const work_rounds = 50000;
const turns = 3;

inline fn work(rounds: u32) void {
    var left = rounds;
    var x: u64 = 88172645463325252;
    while (left > 0) : (left -= 1) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        asm volatile (""
            :
            : [x] "r" (x),
        );
    }
}

export fn light() void {
    recorder_push(id_light);
    recorder_record();
    work(work_rounds);
    recorder_pop();
}

export fn heavy() void {
    recorder_push(id_heavy);
    recorder_record();
    work(3 * work_rounds);
    recorder_pop();
}

export fn turn(left: u32, direction: u32) void {
    recorder_push(id_turn);
    if (left > 1) {
        @call(.never_inline, turn, .{ left - 1, direction });
    } else if (direction % 2 == 1) {
        @call(.never_inline, heavy, .{});
    } else {
        @call(.never_inline, light, .{});
    }
    recorder_pop();
}

inline fn colour(number: u32, direction: u32) void {
    recorder_push(id_colours + number);
    @call(.never_inline, turn, .{ turns, direction });
    recorder_pop();
}

export fn red(direction: u32) void {
    colour(0, direction);
}
export fn green(direction: u32) void {
    colour(1, direction);
}
export fn blue(direction: u32) void {
    colour(2, direction);
}
export fn black(direction: u32) void {
    colour(3, direction);
}

const Function = *const fn (u32) callconv(.c) void;

// Variables, so that no call can be replaced by what it calls.
export var colours = [4]Function{ red, green, blue, black };

inline fn season(number: u32, direction: u32) void {
    recorder_push(id_seasons + number);
    colours[(direction + number) % 4](direction);
    recorder_pop();
}

export fn spring(direction: u32) void {
    season(0, direction);
}
export fn summer(direction: u32) void {
    season(1, direction);
}
export fn autumn(direction: u32) void {
    season(2, direction);
}
export fn winter(direction: u32) void {
    season(3, direction);
}

export var seasons = [4]Function{ spring, summer, autumn, winter };

inline fn towards(number: u32, of_season: u32) void {
    recorder_push(id_directions + number);
    seasons[of_season](number);
    recorder_pop();
}

export fn north(of_season: u32) void {
    towards(0, of_season);
}
export fn east(of_season: u32) void {
    towards(1, of_season);
}
export fn south(of_season: u32) void {
    towards(2, of_season);
}
export fn west(of_season: u32) void {
    towards(3, of_season);
}

export var directions = [4]Function{ north, east, south, west };

export fn run(rounds: u32) void {
    recorder_push(id_run);
    var i: u32 = 0;
    while (i < rounds) : (i += 1) {
        directions[i % 4](i / 4 % 4);
    }
    recorder_pop();
}

pub fn main() u8 {
    const arguments = std.os.argv;
    if (arguments.len < 2) return 2;
    // Whoever runs this may be killed: do not burn on.
    _ = linux.prctl(@intFromEnum(linux.PR.SET_PDEATHSIG), linux.SIG.KILL, 0, 0, 0);
    const opened = linux.open(arguments[1], .{ .ACCMODE = .RDWR, .CREAT = true, .TRUNC = true }, 0o600);
    if (linux.E.init(opened) != .SUCCESS) return 1;
    const fd: i32 = @intCast(opened);
    _ = linux.ftruncate(fd, @intCast(recorder_bytes));
    const memory = linux.mmap(null, recorder_bytes, linux.PROT.READ | linux.PROT.WRITE, .{ .TYPE = .SHARED }, fd, 0);
    if (linux.E.init(memory) != .SUCCESS) return 1;
    recorder_begin(@ptrFromInt(memory));
    var rounds: u32 = std.math.maxInt(u32);
    if (arguments.len > 2) {
        rounds = std.fmt.parseInt(u32, std.mem.span(arguments[2]), 10) catch return 2;
    }
    @call(.never_inline, run, .{rounds});
    return 0;
}
