# SPDX-License-Identifier: Apache-2.0
"""The round of README.md in Python: `python_work.py ROUNDS [PER_MILLE SEED]`, so many of them a
unit, and a rest after each if it is to use no more of a CPU (pace.h has the same in C)."""
import os
import sys
import time

MASK = 0x7FFFFFFF
OPERATORS = "+-*/"
SYLLABLES = ("ka", "lo", "mi", "nu", "re", "so", "ti", "va")


class Random:
    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state * 1103515245 + 12345) & MASK
        return self.state >> 16


class Checksum:
    def __init__(self):
        self.value = 2166136261

    def fold(self, value):
        for shift in (0, 8, 16, 24):
            self.value = ((self.value ^ (value >> shift & 0xFF)) * 16777619) & 0xFFFFFFFF


class Number:
    def __init__(self, value):
        self.value = value

    def evaluate(self):
        return self.value


class Binary:
    def __init__(self, left, right):
        self.left = left
        self.right = right

    def evaluate(self):
        return self.apply(self.left.evaluate(), self.right.evaluate()) & MASK


class Sum(Binary):
    def apply(self, left, right):
        return left + right


class Difference(Binary):
    def apply(self, left, right):
        return left - right


class Product(Binary):
    def apply(self, left, right):
        return left * right


class Quotient(Binary):
    def apply(self, left, right):
        return left // right


NODES = {"+": Sum, "-": Difference, "*": Product, "/": Quotient}


def print_expression(random, depth):
    if depth == 0:
        return str(random.next() % 100)
    operator = OPERATORS[random.next() & 3]
    left = print_expression(random, depth - 1)
    right = print_expression(random, random.next() % min(depth, 4))
    return f"({left}{operator}{right})"


class Parser:
    def __init__(self, text):
        self.text = text
        self.position = 0

    def peek(self):
        return self.text[self.position] if self.position < len(self.text) else ""

    def expression(self):
        return self.chain("+-", self.term)

    def term(self):
        return self.chain("*/", self.factor)

    def chain(self, operators, operand):
        left = operand()
        while (operator := self.peek()) and operator in operators:
            self.position += 1
            left = NODES[operator](left, operand())
        return left

    def factor(self):
        if self.peek() != "(":
            return self.number()
        self.position += 1
        inner = self.expression()
        self.position += 1
        return inner

    def number(self):
        start = self.position
        while self.peek().isdigit():
            self.position += 1
        return Number(int(self.text[start : self.position]))


def evaluate_expressions(random, checksum):
    for _ in range(12):
        text = print_expression(random, 14)
        try:
            value = Parser(text).expression().evaluate()
        except ZeroDivisionError:
            value = 77
        checksum.fold(value)


def count_words(random, checksum):
    words = []
    for _ in range(300):
        length = 1 + random.next() % 3
        words.append("".join(SYLLABLES[random.next() & 7] for _ in range(length)))
    counts = {}
    for word in " ".join(words).split(" "):
        counts[word] = counts.get(word, 0) + 1
    for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        checksum.fold(count)
        checksum.fold(ord(word[-1]))


def place_queens(size, columns):
    if len(columns) == size:
        return 1
    row = len(columns)
    solutions = 0
    for column in range(size):
        if all(
            other != column and abs(other - column) != row - index
            for index, other in enumerate(columns)
        ):
            solutions += place_queens(size, [*columns, column])
    return solutions


class Tree:
    def __init__(self, value):
        self.value = value
        self.left = None
        self.right = None


def tree_insert(tree, value):
    if tree is None:
        return Tree(value)
    if value < tree.value:
        tree.left = tree_insert(tree.left, value)
    else:
        tree.right = tree_insert(tree.right, value)
    return tree


def tree_fold(tree, checksum):
    """The depth of the tree."""
    if tree is None:
        return 0
    left = tree_fold(tree.left, checksum)
    checksum.fold(tree.value)
    return 1 + max(left, tree_fold(tree.right, checksum))


def fill_tree(random, checksum):
    tree = None
    for _ in range(150):
        tree = tree_insert(tree, random.next())
    checksum.fold(tree_fold(tree, checksum))


def work_round():
    random = Random(42)
    checksum = Checksum()
    evaluate_expressions(random, checksum)
    count_words(random, checksum)
    checksum.fold(place_queens(6, []))
    fill_tree(random, checksum)
    return checksum.value


def work_unit(rounds):
    results = {work_round() for _ in range(rounds)}
    if len(results) != 1:
        sys.exit("python_work: rounds differ")
    return results.pop()


class Pace:
    """Keeps the process at a share of a CPU, whatever its work costs on this machine."""

    def __init__(self, per_mille, seed):
        self.per_mille = per_mille
        self.random = Random(seed)
        self.cpu = time.process_time()

    def rest(self):
        now = time.process_time()
        mean = (now - self.cpu) * (1000 - self.per_mille) / self.per_mille
        self.cpu = now
        time.sleep(mean * (0.5 + self.random.next() / 32768))


def main():
    rounds, *paced = map(int, sys.argv[1:])
    pace = Pace(*paced) if paced else None
    while True:
        os.write(1, b"%08x\n" % work_unit(rounds))
        if pace:
            pace.rest()


main()
