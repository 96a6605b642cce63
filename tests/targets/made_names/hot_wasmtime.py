# SPDX-License-Identifier: Apache-2.0
"""Computes in WebAssembly for as long as it lives: hot_wasmtime.py PROFILER."""
import sys

import wasmtime

TEXT = """
(module
  (func $innermost (param $n i32) (result i32)
    (local $x i32)
    (loop $again
      (local.set $x (i32.add (i32.mul (local.get $x) (i32.const 31)) (local.get $n)))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $again (local.get $n)))
    (local.get $x))
  (func $middle (export "middle") (param $n i32) (result i32)
    (i32.add (call $innermost (local.get $n)) (i32.const 1))))
"""

config = wasmtime.Config()
config.profiler = sys.argv[1]
store = wasmtime.Store(wasmtime.Engine(config))
instance = wasmtime.Instance(store, wasmtime.Module(store.engine, TEXT), [])
middle = instance.exports(store)["middle"]
while True:
    middle(store, 10_000_000)
