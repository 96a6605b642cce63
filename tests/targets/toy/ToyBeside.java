// SPDX-License-Identifier: Apache-2.0

/**
 * A Java program that runs one of the toy interpreter's on its own stack: `ToyBeside LIBRARY`, with
 * TOY_CHAINS in the environment as program.c has it. Prints `ready`.
 */
public final class ToyBeside {
	static final int TURNS = 20;

	private static native void begin();

	private static native void forest();

	private static int turn(int left) {
		if (left > 1)
			return turn(left - 1) + 1;
		forest();
		return 1;
	}

	public static void main(String[] arguments) {
		System.load(arguments[0]);
		begin();
		System.out.println("ready");
		for (;;)
			turn(TURNS);
	}
}
