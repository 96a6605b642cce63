// SPDX-License-Identifier: Apache-2.0

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/** The round of README.md in Java: `JavaWork ROUNDS THREADS`, so many of them a unit. */
public final class JavaWork {
	private static final int MASK = 0x7fffffff;
	private static final String OPERATORS = "+-*/";
	private static final String[] SYLLABLES = {"ka", "lo", "mi", "nu", "re", "so", "ti", "va"};

	private static final class Random {
		private int state;

		Random(int seed) {
			state = seed;
		}

		int next() {
			state = (state * 1103515245 + 12345) & MASK;
			return state >> 16;
		}
	}

	private static final class Checksum {
		private int value = 0x811c9dc5;

		void fold(int folded) {
			for (int shift = 0; shift < 32; shift += 8)
				value = (value ^ (folded >> shift & 0xff)) * 16777619;
		}
	}

	private interface Node {
		int evaluate();
	}

	private record Literal(int value) implements Node {
		@Override
		public int evaluate() {
			return value;
		}
	}

	private abstract static class Binary implements Node {
		private final Node left;
		private final Node right;

		Binary(Node left, Node right) {
			this.left = left;
			this.right = right;
		}

		abstract int apply(int left, int right);

		@Override
		public int evaluate() {
			return apply(left.evaluate(), right.evaluate()) & MASK;
		}

		static Node create(char operator, Node left, Node right) {
			switch (operator) {
			case '+':
				return new Sum(left, right);
			case '-':
				return new Difference(left, right);
			case '*':
				return new Product(left, right);
			default:
				return new Quotient(left, right);
			}
		}
	}

	private static final class Sum extends Binary {
		Sum(Node left, Node right) {
			super(left, right);
		}

		@Override
		int apply(int left, int right) {
			return left + right;
		}
	}

	private static final class Difference extends Binary {
		Difference(Node left, Node right) {
			super(left, right);
		}

		@Override
		int apply(int left, int right) {
			return left - right;
		}
	}

	private static final class Product extends Binary {
		Product(Node left, Node right) {
			super(left, right);
		}

		@Override
		int apply(int left, int right) {
			return left * right;
		}
	}

	private static final class Quotient extends Binary {
		Quotient(Node left, Node right) {
			super(left, right);
		}

		@Override
		int apply(int left, int right) {
			return left / right;
		}
	}

	private static void printExpression(Random random, int depth, StringBuilder text) {
		if (depth == 0) {
			text.append(random.next() % 100);
			return;
		}
		char operator = OPERATORS.charAt(random.next() & 3);
		text.append('(');
		printExpression(random, depth - 1, text);
		text.append(operator);
		printExpression(random, random.next() % Math.min(depth, 4), text);
		text.append(')');
	}

	private static final class Parser {
		private final String text;
		private int position;

		Parser(String text) {
			this.text = text;
		}

		private char peek() {
			return position < text.length() ? text.charAt(position) : 0;
		}

		Node expression() {
			return chain("+-", this::term);
		}

		private Node term() {
			return chain("*/", this::factor);
		}

		private Node chain(String operators, Supplier<Node> operand) {
			Node left = operand.get();
			while (operators.indexOf(peek()) >= 0) {
				char operator = peek();
				position++;
				left = Binary.create(operator, left, operand.get());
			}
			return left;
		}

		private Node factor() {
			if (peek() != '(')
				return number();
			position++;
			Node inner = expression();
			position++;
			return inner;
		}

		private Node number() {
			int start = position;
			while (Character.isDigit(peek()))
				position++;
			return new Literal(Integer.parseInt(text.substring(start, position)));
		}
	}

	private static void evaluateExpressions(Random random, Checksum checksum) {
		for (int i = 0; i < 12; i++) {
			StringBuilder text = new StringBuilder();
			printExpression(random, 14, text);
			int value;
			try {
				value = new Parser(text.toString()).expression().evaluate();
			} catch (ArithmeticException error) {
				value = 77;
			}
			checksum.fold(value);
		}
	}

	private static void countWords(Random random, Checksum checksum) {
		List<String> words = new ArrayList<>();
		for (int i = 0; i < 300; i++) {
			StringBuilder word = new StringBuilder();
			for (int length = 1 + random.next() % 3; length > 0; length--)
				word.append(SYLLABLES[random.next() & 7]);
			words.add(word.toString());
		}
		Map<String, Integer> counts = new HashMap<>();
		for (String word : String.join(" ", words).split(" "))
			counts.merge(word, 1, Integer::sum);
		Comparator<Map.Entry<String, Integer>> order =
			Map.Entry.<String, Integer>comparingByValue().reversed();
		counts.entrySet()
			.stream()
			.sorted(order.thenComparing(Map.Entry.comparingByKey()))
			.forEach(entry -> {
				checksum.fold(entry.getValue());
				checksum.fold(entry.getKey().charAt(entry.getKey().length() - 1));
			});
	}

	private static int placeQueens(int size, List<Integer> columns) {
		int row = columns.size();
		if (row == size)
			return 1;
		int solutions = 0;
		for (int candidate = 0; candidate < size; candidate++) {
			int column = candidate;
			boolean free = IntStream.range(0, row).allMatch(index -> {
				int distance = Math.abs(columns.get(index) - column);
				return distance != 0 && distance != row - index;
			});
			if (!free)
				continue;
			List<Integer> more = new ArrayList<>(columns);
			more.add(column);
			solutions += placeQueens(size, more);
		}
		return solutions;
	}

	private static final class Tree {
		private final int value;
		private Tree left;
		private Tree right;

		Tree(int value) {
			this.value = value;
		}

		static Tree insert(Tree tree, int value) {
			if (tree == null)
				return new Tree(value);
			if (value < tree.value)
				tree.left = insert(tree.left, value);
			else
				tree.right = insert(tree.right, value);
			return tree;
		}

		/** The depth of the tree. */
		static int fold(Tree tree, Checksum checksum) {
			if (tree == null)
				return 0;
			int leftDepth = fold(tree.left, checksum);
			checksum.fold(tree.value);
			return 1 + Math.max(leftDepth, fold(tree.right, checksum));
		}
	}

	private static void fillTree(Random random, Checksum checksum) {
		Tree tree = null;
		for (int i = 0; i < 150; i++)
			tree = Tree.insert(tree, random.next());
		checksum.fold(Tree.fold(tree, checksum));
	}

	private static int workRound() {
		Random random = new Random(42);
		Checksum checksum = new Checksum();
		evaluateExpressions(random, checksum);
		countWords(random, checksum);
		checksum.fold(placeQueens(6, List.of()));
		fillTree(random, checksum);
		return checksum.value;
	}

	private static int workUnit(int rounds) {
		int result = workRound();
		for (int i = 1; i < rounds; i++) {
			if (workRound() != result)
				throw new IllegalStateException("rounds differ");
		}
		return result;
	}

	private static void workForever(int rounds, FileOutputStream output) {
		try {
			for (;;) {
				String line = String.format("%08x\n", workUnit(rounds));
				output.write(line.getBytes(StandardCharsets.US_ASCII));
			}
		} catch (IOException | RuntimeException error) {
			error.printStackTrace();
			Runtime.getRuntime().halt(1);
		}
	}

	public static void main(String[] arguments) {
		int rounds = Integer.parseInt(arguments[0]);
		FileOutputStream output = new FileOutputStream(FileDescriptor.out);
		for (int i = Integer.parseInt(arguments[1]); i > 0; i--)
			new Thread(() -> workForever(rounds, output), "worker-" + i).start();
	}
}
