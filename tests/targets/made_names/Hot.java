// SPDX-License-Identifier: Apache-2.0
/** Computes, and has others compute: so many steps a call as it is told, or a million. */
import java.util.function.IntUnaryOperator;

public class Hot {
	public static int innermost(int n) {
		int x = 0;

		for (int i = 0; i < n; i++)
			x = x * 31 + i;
		return x;
	}

	public static int middle(int n) {
		return innermost(n) + 1;
	}

	public static int back(IntUnaryOperator function, int n) {
		return function.applyAsInt(n) + 1;
	}

	public static void main(String[] arguments) {
		int steps = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 1000000;

		for (int x = 0;; x += middle(steps))
			if (x == 42)
				System.out.println(x);
	}
}
