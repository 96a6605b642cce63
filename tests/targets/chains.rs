// SPDX-License-Identifier: Apache-2.0
//! The chains of chains.h, in Rust.
use std::ffi::{c_char, CString};

extern "C" {
    fn recorder_open(path: *const c_char, rounds: *const c_char) -> u32;
    fn recorder_push(function: u32);
    fn recorder_pop();
    fn recorder_record();
}

// The ids of recorder.c.
const RUN: u32 = 0;
const DIRECTIONS: u32 = 1;
const SEASONS: u32 = 5;
const COLOURS: u32 = 9;
const TURN: u32 = 13;
const LIGHT: u32 = 14;
const HEAVY: u32 = 15;

const WORK_ROUNDS: u32 = 50000;
const TURNS: u32 = 3;

/// On the shadow stack as long as it lives, panics included.
struct Frame;

impl Frame {
    #[inline(always)]
    fn new(function: u32) -> Frame {
        unsafe { recorder_push(function) };
        Frame
    }
}

impl Drop for Frame {
    #[inline(always)]
    fn drop(&mut self) {
        unsafe { recorder_pop() };
    }
}

macro_rules! leaf {
    ($name:ident, $id:expr, $rounds:expr) => {
        #[no_mangle]
        #[inline(never)]
        fn $name() {
            let _frame = Frame::new($id);
            unsafe { recorder_record() };
            let mut rounds = $rounds;
            let mut x: u64 = 88172645463325252;
            while rounds > 0 {
                x ^= x << 13;
                x ^= x >> 7;
                x ^= x << 17;
                rounds -= 1;
            }
            std::hint::black_box(x);
        }
    };
}

leaf!(light, LIGHT, WORK_ROUNDS);
leaf!(heavy, HEAVY, 3 * WORK_ROUNDS);

#[no_mangle]
#[inline(never)]
fn turn(left: u32, direction: usize) {
    let _frame = Frame::new(TURN);
    if left > 1 {
        turn(left - 1, direction);
    } else if direction % 2 == 1 {
        heavy();
    } else {
        light();
    }
}

macro_rules! colour {
    ($name:ident, $number:expr) => {
        #[no_mangle]
        #[inline(never)]
        fn $name(direction: usize) {
            let _frame = Frame::new(COLOURS + $number);
            turn(TURNS, direction);
        }
    };
}

colour!(red, 0);
colour!(green, 1);
colour!(blue, 2);
colour!(black, 3);

static ALL_COLOURS: [fn(usize); 4] = [red, green, blue, black];

macro_rules! season {
    ($name:ident, $number:expr) => {
        #[no_mangle]
        #[inline(never)]
        fn $name(direction: usize) {
            let _frame = Frame::new(SEASONS + $number);
            ALL_COLOURS[(direction + $number) % 4](direction);
        }
    };
}

season!(spring, 0);
season!(summer, 1);
season!(autumn, 2);
season!(winter, 3);

static ALL_SEASONS: [fn(usize); 4] = [spring, summer, autumn, winter];

macro_rules! direction {
    ($name:ident, $number:expr) => {
        #[no_mangle]
        #[inline(never)]
        fn $name(season: usize) {
            let _frame = Frame::new(DIRECTIONS + $number);
            ALL_SEASONS[season]($number);
        }
    };
}

direction!(north, 0);
direction!(east, 1);
direction!(south, 2);
direction!(west, 3);

static ALL_DIRECTIONS: [fn(usize); 4] = [north, east, south, west];

#[no_mangle]
#[inline(never)]
fn run(rounds: u32) {
    let _frame = Frame::new(RUN);
    let mut i: usize = 0;
    while i < rounds as usize {
        ALL_DIRECTIONS[i % 4](i / 4 % 4);
        i += 1;
    }
}

fn main() {
    let arguments: Vec<CString> =
        std::env::args().skip(1).map(|text| CString::new(text).unwrap()).collect();
    let path = arguments.first().expect("usage: chains FILE [ROUNDS]");
    let rounds = arguments.get(1).map_or(std::ptr::null(), |text| text.as_ptr());
    run(unsafe { recorder_open(path.as_ptr(), rounds) });
}
