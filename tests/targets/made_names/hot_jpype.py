# SPDX-License-Identifier: Apache-2.0
"""Computes in Java, and by way of Java in Python, for as long as it lives: hot_jpype.py CLASSES."""
import sys

import jpype

jpype.startJVM(classpath=[sys.argv[1]])
Hot = jpype.JClass("Hot")


@jpype.JImplements("java.util.function.IntUnaryOperator")
class Function:
    @jpype.JOverride
    def applyAsInt(self, n):
        return compute(n)


def compute(n):
    x = 0
    for i in range(n):
        x = (x * 31 + i) & 0xFFFF
    return x


def in_java():
    return Hot.middle(10_000_000)


def in_python():
    return Hot.back(FUNCTION, 200_000)


FUNCTION = Function()
while True:
    in_java()
    in_python()
