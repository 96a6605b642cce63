// SPDX-License-Identifier: Apache-2.0
/** Computes, and has others compute. */
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
		// Calls are so many that all is compiled for good within moments.
		for (int x = 0;; x += middle(10000))
			if (x == 42)
				System.out.println(x);
	}
}
